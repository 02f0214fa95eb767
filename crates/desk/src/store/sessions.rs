//! `basalt.desk_sessions`: sessions of the owner's desk, each tied to a session of the auth API.

use foundation::time::Time;
use gotrue_rs::store::rows::{UserAndSession, account_columns, session_columns};
use gotrue_rs::store::users::INSTANCE;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

statements! {
    /// Also records the use, once a minute at most.
    FIND = "desk_sessions.find": concat!(
        "WITH used AS (
             UPDATE basalt.desk_sessions
             SET last_used_at = :now
             WHERE token_hash = :token_hash
               AND expires_at > :now
               AND last_used_at > :idle_since
               AND last_used_at < :now::timestamptz - interval '1 minute'
         )
         SELECT d.id AS desk_id,
                d.method AS desk_method,
                d.expires_at AS desk_expires_at,
                ",
        account_columns!(),
        ", ",
        session_columns!(),
        "
         FROM basalt.desk_sessions d
         JOIN users u ON u.id = d.user_id
         JOIN sessions s ON s.id = d.session_id AND s.user_id = d.user_id
         WHERE d.token_hash = :token_hash
           AND d.expires_at > :now
           AND d.last_used_at > :idle_since
           AND u.instance_id = :instance_id
           AND u.deleted_at IS NULL"
    );

    /// Replaces a ticket, which one of two concurrent requests does.
    INSERT = "desk_sessions.insert": "
        WITH ticket AS (
            DELETE FROM basalt.desk_tickets
            WHERE token_hash = :ticket_hash
            RETURNING token_hash
        )
        INSERT INTO basalt.desk_sessions (id, token_hash, user_id, session_id, method, created_at, last_used_at, expires_at)
        SELECT :id, :token_hash, :user_id, :session_id, :method, :now::timestamptz, :now::timestamptz, :expires_at
        FROM ticket";

    DELETE = "desk_sessions.delete": "
        DELETE FROM basalt.desk_sessions
        WHERE id = :id";

    /// Ends the session of the auth API too, for which nothing else has a token.
    #[proves(SessionsEnded)]
    END = "desk_sessions.end": "
        WITH ended AS (
            DELETE FROM basalt.desk_sessions
            WHERE id = :id
            RETURNING session_id
        )
        DELETE FROM sessions
        WHERE id = (SELECT session_id
                    FROM ended)";

    /// Ends the sessions of the auth API too, for which nothing else has a token.
    #[proves(SessionsEnded)]
    DELETE_EXPIRED = "desk_sessions.delete_expired": "
        WITH tickets AS (
            DELETE FROM basalt.desk_tickets
            WHERE expires_at < :before
            RETURNING purpose, session_id
        ), ended AS (
            DELETE FROM basalt.desk_sessions
            WHERE expires_at < :now
            RETURNING session_id
        )
        DELETE FROM sessions
        WHERE id = ANY (ARRAY(SELECT session_id
                              FROM tickets
                              WHERE purpose IN ('code', 'enrollment')
                              UNION
                              SELECT session_id
                              FROM ended))";
}

/// A session of the desk with its user and its session of the auth API.
#[derive(Debug)]
pub(crate) struct DeskSessionRow {
    pub id: Uuid,
    /// `method`: `code` or `passkey`.
    pub method: String,
    pub expires_at: Time,
    /// The user and the session of the auth API.
    pub found: UserAndSession,
}

impl FromRow<'_, PgRow> for DeskSessionRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("desk_id")?,
            method: row.try_get("desk_method")?,
            expires_at: TimeColumn::read(row, "desk_expires_at")?,
            found: UserAndSession::from_row(row)?,
        })
    }
}

/// A session of the desk to insert.
#[derive(Debug)]
pub(crate) struct NewDeskSession<'a> {
    pub id: Uuid,
    pub token_hash: &'a [u8],
    /// The digest of the ticket that the session replaces.
    pub ticket_hash: &'a [u8],
    pub user_id: Uuid,
    pub session_id: Uuid,
    pub method: &'static str,
    /// `created_at`.
    pub now: Time,
    pub expires_at: Time,
}

/// Returns the session of a token that was used since `idle_since`, and records its use.
pub(crate) async fn find(
    db: &mut Connection,
    token_hash: &[u8],
    now: Time,
    idle_since: Time,
) -> Result<Option<DeskSessionRow>> {
    db.fetch_optional(bind!(FIND, token_hash, now, idle_since, instance_id: INSTANCE)).await
}

/// Inserts a session in place of its ticket; `false` if the ticket is gone.
pub(crate) async fn insert(db: &mut Connection, new: NewDeskSession<'_>) -> Result<bool> {
    let NewDeskSession { id, token_hash, ticket_hash, user_id, session_id, method, now, expires_at } = new;
    let bound = bind!(INSERT, id, token_hash, ticket_hash, user_id, session_id, method, now, expires_at);
    Ok(db.execute(bound).await? > 0)
}

/// Deletes a session.
pub(crate) async fn delete(db: &mut Connection, id: Uuid) -> Result<()> {
    db.execute(bind!(DELETE, id)).await?;
    Ok(())
}

/// Deletes a session and its session of the auth API.
pub(crate) async fn end(db: &mut Connection, id: Uuid) -> Result<()> {
    db.execute(bind!(END, id)).await?;
    Ok(())
}

/// Deletes expired sessions, and tickets that expired before `before`.
pub(crate) async fn delete_expired(db: &mut Connection, now: Time, before: Time) -> Result<()> {
    db.execute(bind!(DELETE_EXPIRED, now, before)).await?;
    Ok(())
}
