//! What the screen of the account reads: sessions of the desk, and owners.

use foundation::time::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

statements! {
    #[repeatable]
    LIST_SESSIONS = "account.list_sessions": "
        SELECT d.id, d.method, d.created_at, d.last_used_at, s.user_agent
        FROM basalt.desk_sessions d
        JOIN sessions s ON s.id = d.session_id
        WHERE d.user_id = :user_id
          AND d.expires_at > :now
        ORDER BY d.last_used_at DESC
        LIMIT 50";

    /// Ends the sessions of the auth API too, for which nothing else has a token.
    #[proves(SessionsEnded)]
    END_OTHER_SESSIONS = "account.end_other_sessions": "
        WITH ended AS (
            DELETE FROM basalt.desk_sessions
            WHERE user_id = :user_id
              AND id <> :kept
            RETURNING session_id
        )
        DELETE FROM sessions
        WHERE id IN (SELECT session_id
                     FROM ended)";

    /// Reads all users.
    #[repeatable]
    LIST_OWNERS = "account.list_owners": "
        SELECT u.id, u.email::text AS email, u.last_sign_in_at
        FROM users u
        WHERE u.deleted_at IS NULL
          AND (u.raw_app_meta_data ->> 'role' = 'owner'
               OR u.raw_app_meta_data -> 'roles' @> '[\"owner\"]'::jsonb)
        ORDER BY u.created_at
        LIMIT 100";
}

/// A session of the desk.
#[derive(Debug)]
pub(crate) struct ListedSession {
    pub id: Uuid,
    /// `method`: `code` or `passkey`.
    pub method: String,
    pub created_at: Time,
    /// `last_used_at`, to the minute.
    pub last_used_at: Time,
    /// The browser.
    pub user_agent: Option<String>,
}

impl FromRow<'_, PgRow> for ListedSession {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            method: row.try_get("method")?,
            created_at: row.try_get("created_at")?,
            last_used_at: row.try_get("last_used_at")?,
            user_agent: row.try_get("user_agent")?,
        })
    }
}

#[derive(Debug)]
pub(crate) struct ListedOwner {
    pub id: Uuid,
    pub email: Option<String>,
    pub last_sign_in_at: Option<Time>,
}

impl FromRow<'_, PgRow> for ListedOwner {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            email: row.try_get("email")?,
            last_sign_in_at: row.try_get("last_sign_in_at")?,
        })
    }
}

/// Lists the sessions of an owner, the latest first.
pub(crate) async fn list_sessions(db: &mut Connection, user_id: Uuid, now: Time) -> Result<Vec<ListedSession>> {
    db.fetch_all(bind!(LIST_SESSIONS, user_id, now)).await
}

/// Ends the sessions of an owner but one.
pub(crate) async fn end_other_sessions(db: &mut Connection, user_id: Uuid, kept: Uuid) -> Result<()> {
    db.execute(bind!(END_OTHER_SESSIONS, user_id, kept)).await?;
    Ok(())
}

pub(crate) async fn list_owners(db: &mut Connection) -> Result<Vec<ListedOwner>> {
    db.fetch_all(bind!(LIST_OWNERS)).await
}
