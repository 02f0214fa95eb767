//! `auth.refresh_tokens` (version 1), and the writes of a refresh in both versions.
//!
//! The fast paths are in [`refresh_rotation`](super::refresh_rotation). All other cases read, decide, lock, read again
//! and write.
//!
//! Rows are locked in the order `users`, `refresh_tokens`, `sessions` (`docs/concurrency.md`).

use std::net::IpAddr;

use foundation::time::Time;
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::user::User;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::types::ipnetwork::IpNetwork;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};
use super::rows::{SessionRow, UserAndSession, UserRow, account_columns, session_columns};

/// Selects a token with the session's newest unrevoked one, its user and its session.
const SELECT_TOKEN: &str = concat!(
    "SELECT t.id AS token_id, t.revoked AS token_revoked, t.updated_at AS token_updated_at,
            newest.token AS active_token, newest.parent AS active_parent, ",
    account_columns!(),
    ", ",
    session_columns!(),
    "
     FROM refresh_tokens t
     JOIN users u ON u.id = t.user_id::uuid
     LEFT JOIN sessions s ON s.id = t.session_id
     LEFT JOIN LATERAL (
         SELECT n.token, n.parent
         FROM refresh_tokens n
         WHERE n.session_id = t.session_id
           AND n.revoked = false
         ORDER BY n.id DESC
         LIMIT 1
     ) newest ON true
     WHERE t.token = :token
       AND t.instance_id = '00000000-0000-0000-0000-000000000000'"
);

statements! {
    #[repeatable]
    FIND = "refresh_tokens.find": SELECT_TOKEN;

    #[repeatable]
    FIND_LOCKED = "refresh_tokens.find_locked": SELECT_TOKEN;

    /// Locks the rows but does not read them, and does not wait.
    ///
    /// A locking statement reads all other rows from a snapshot that is older than its locks.
    LOCK = "refresh_tokens.lock":
        "SELECT t.id
         FROM refresh_tokens t
         JOIN sessions s ON s.id = t.session_id
         JOIN users u ON u.id = s.user_id
         WHERE t.token = :token
           AND t.instance_id = '00000000-0000-0000-0000-000000000000'
         FOR NO KEY UPDATE OF u SKIP LOCKED
         FOR UPDATE OF t, s SKIP LOCKED";

    #[repeatable]
    SESSION = "sessions.with_account": concat!(
        "SELECT ",
        account_columns!(),
        ", ",
        session_columns!(),
        "
         FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE s.id = :session_id"
    );

    SESSION_LOCKED = "sessions.with_account_locked": concat!(
        "SELECT ",
        account_columns!(),
        ", ",
        session_columns!(),
        "
         FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE s.id = :session_id
         FOR UPDATE OF s SKIP LOCKED"
    );

    #[proves(Audit)]
    WRITE = "sessions.refresh": concat!(
        "WITH s AS (
             UPDATE sessions
             SET refreshed_at = :now::timestamptz AT TIME ZONE 'utc',
                 updated_at = :now,
                 user_agent = :user_agent,
                 ip = :ip,
                 refresh_token_counter = COALESCE(:counter, refresh_token_counter),
                 refresh_token_hmac_key = COALESCE(:hmac_key, refresh_token_hmac_key)
             WHERE id = :session_id
             RETURNING *
         ), old AS (
             UPDATE refresh_tokens SET revoked = true, updated_at = :now WHERE id = :token_id
         ), new AS (
             INSERT INTO refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, parent,
                                         session_id)
             SELECT '00000000-0000-0000-0000-000000000000', :successor, s.user_id::text, :is_retired, :now, :now,
                    :token, s.id
             FROM s
             WHERE :token_id::bigint IS NOT NULL
         ), touched AS (
             UPDATE users SET last_sign_in_at = last_sign_in_at, updated_at = :now
             WHERE id = :user_id AND :token_id::bigint IS NOT NULL
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
         )
         SELECT ",
        account_columns!(),
        ", ",
        session_columns!(),
        "
         FROM users u CROSS JOIN s
         WHERE u.id = :user_id"
    );

    REVOKE_FAMILY = "refresh_tokens.revoke_family":
        "UPDATE refresh_tokens
         SET revoked = true, updated_at = :now
         WHERE session_id = :session_id
           AND revoked = false";

    DELETE = "refresh_tokens.delete": "DELETE FROM refresh_tokens WHERE id = :token_id";
}

/// The client data that a refresh stores.
#[derive(Debug, Clone)]
pub struct ClientInfo {
    /// `sessions.user_agent`.
    pub user_agent: Option<String>,
    /// `sessions.ip`.
    pub ip: Option<IpAddr>,
}

/// A token with the input of the refresh decision.
#[derive(Debug)]
pub struct RefreshTokenState {
    pub id: i64,
    /// Whether it was exchanged or revoked.
    pub is_revoked: bool,
    /// The time of its last change.
    pub updated_at: Time,
    /// The session's newest unrevoked token.
    pub active: Option<ActiveToken>,
    pub user: User,
    /// The session; tokens older than the sessions table have none.
    pub session: Option<Session>,
}

/// The newest unrevoked token of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveToken {
    pub token: String,
    /// The token it replaced.
    pub parent: Option<String>,
}

impl FromRow<'_, PgRow> for RefreshTokenState {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let active: Option<String> = row.try_get("active_token")?;
        let parent: Option<String> = row.try_get("active_parent")?;
        Ok(Self {
            id: row.try_get("token_id")?,
            is_revoked: row.try_get::<Option<bool>, _>("token_revoked")?.unwrap_or(false),
            updated_at: <Option<Time> as TimeColumn>::read(row, "token_updated_at")?.unwrap_or_default(),
            active: active.map(|token| ActiveToken { token, parent }),
            user: UserRow::from_row(row)?.0,
            session: SessionRow::from_row(row)?.0,
        })
    }
}

/// Returns the token with its session and user.
pub async fn find(db: &mut Connection, token: &str) -> Result<Option<RefreshTokenState>> {
    db.fetch_optional(bind!(FIND, token)).await
}

/// Locks user, token and session and returns them; `None` if one is locked elsewhere or gone.
///
/// A second statement reads them, which sees everything committed before the lock was acquired.
pub async fn find_locked(db: &mut Connection, token: &str) -> Result<Option<RefreshTokenState>> {
    let locked: Option<(i64,)> = db.fetch_optional(bind!(LOCK, token)).await?;
    if locked.is_none() {
        return Ok(None);
    }
    db.fetch_optional(bind!(FIND_LOCKED, token)).await
}

/// Returns the session of a version 2 token, with its user.
pub async fn find_session(db: &mut Connection, id: Uuid) -> Result<Option<UserAndSession>> {
    db.fetch_optional(bind!(SESSION, session_id: id)).await
}

/// Locks the session and returns it with its user; `None` if it is locked elsewhere.
///
/// Only the session's own columns may be used for decisions: they are those of the locked row, whereas user and AMR
/// claims are of the statement's snapshot.
pub async fn find_session_locked(db: &mut Connection, id: Uuid) -> Result<Option<UserAndSession>> {
    db.fetch_optional(bind!(SESSION_LOCKED, session_id: id)).await
}

#[derive(Debug)]
pub struct RefreshWrite {
    pub session_id: Uuid,
    pub user_id: Uuid,
    /// The time of the request.
    pub now: Time,
    pub client: ClientInfo,
    /// The exchanged version 1 token and its successor.
    pub rotation: Option<Rotation>,
    /// The new counter and, for a session that is upgraded to version 2, its HMAC key.
    pub counter: Option<(i64, Option<String>)>,
    /// Audit rows of the refresh.
    pub audit: Vec<AuditRow>,
}

/// The exchange of a version 1 token.
#[derive(Debug)]
pub struct Rotation {
    /// The row that is revoked.
    pub id: i64,
    /// Its token: the successor's parent.
    pub token: String,
    pub successor: String,
    /// Whether the successor is revoked at once, because the session is upgraded to version 2.
    pub is_retired: bool,
}

/// Writes a refresh and returns the updated user and session.
pub async fn write_refresh(db: &mut Connection, refreshed: RefreshWrite) -> Result<Option<UserAndSession>> {
    let audit = AuditArrays::from_rows(refreshed.audit);
    let rotation = refreshed.rotation;
    let (counter, key) = refreshed.counter.unzip();
    let (now, is_rotation) = (refreshed.now, rotation.is_some());
    let bound = bind!(
        WRITE,
        session_id: refreshed.session_id,
        user_id: refreshed.user_id,
        now,
        user_agent: refreshed.client.user_agent,
        ip: refreshed.client.ip.map(IpNetwork::from),
        token_id: rotation.as_ref().map(|rotation| rotation.id),
        token: rotation.as_ref().map(|rotation| rotation.token.as_str()),
        successor: rotation.as_ref().map(|rotation| rotation.successor.as_str()),
        is_retired: rotation.as_ref().is_some_and(|rotation| rotation.is_retired),
        counter,
        hmac_key: key.flatten(),
        ..audit,
    );
    let mut updated: Option<UserAndSession> = db.fetch_optional(bound).await?;
    if let Some(UserAndSession { user, .. }) = updated.as_mut().filter(|_| is_rotation) {
        // The statement reads the user as it was before its own update.
        user.updated_at = now;
    }
    Ok(updated)
}

/// Revokes every unrevoked token of the session; the session stays.
pub async fn revoke_family(db: &mut Connection, session_id: Uuid, now: Time) -> Result<u64> {
    db.execute(bind!(REVOKE_FAMILY, session_id, now)).await
}

/// Deletes a token that has no session.
pub async fn delete(db: &mut Connection, id: i64) -> Result<u64> {
    db.execute(bind!(DELETE, token_id: id)).await
}
