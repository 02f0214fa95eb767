//! `auth.refresh_tokens` (version 1), and the writes of a refresh in both versions.
//!
//! The fast path rotates in one statement or returns no row. All other cases read, decide, lock, read again and write.
//!
//! Rows are locked in the order `users`, `refresh_tokens`, `sessions` (`docs/concurrency.md`).

use std::net::IpAddr;

use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::user::{Time, User};
use sqlx::postgres::PgRow;
use sqlx::types::ipnetwork::IpNetwork;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::rows::{AccountAndSession, AccountRow, SessionRow, account_columns, session_columns};
use super::statement::{Connection, Statement, args};

/// The client data that a refresh stores.
#[derive(Debug, Clone)]
pub struct ClientInfo {
    /// `sessions.user_agent`.
    pub user_agent: Option<String>,
    /// `sessions.ip`.
    pub ip: Option<IpAddr>,
}

/// The input of [`rotate_fast`].
#[derive(Debug)]
pub struct FastRotation<'a> {
    /// The presented token.
    pub token: &'a str,
    /// The token that replaces it.
    pub successor: String,
    /// The time of the request.
    pub now: Time,
    /// Sessions created before this have exceeded the time-box; `None` for no time-box.
    pub timebox_cutoff: Option<Time>,
    /// Sessions last refreshed before this have exceeded the inactivity timeout; `None` for no timeout.
    pub inactivity_cutoff: Option<Time>,
    /// The client.
    pub client: ClientInfo,
    /// Ids of the two audit rows (`token_refreshed`, `token_revoked`); empty if none are written.
    pub audit_ids: Vec<Uuid>,
    /// The OAuth client to which the session must belong; `None` for a session without one.
    pub oauth_client: Option<Uuid>,
}

/// Waits for the user's row while it holds no other lock, and skips a locked token or session.
///
/// PostgreSQL locks in the order of the clauses and re-evaluates the predicates on the locked rows (`EvalPlanQual`), so
/// that a concurrently rotated token yields no row. The statement decides on no other data.
const ROTATE_FAST: Statement = Statement {
    name: "refresh_tokens.rotate_fast",
    sql: concat!(
        "WITH t AS (
             SELECT t.id, t.token, s.id AS session_id, s.user_id
             FROM refresh_tokens t
             JOIN sessions s ON s.id = t.session_id
             JOIN users u ON u.id = s.user_id
             WHERE t.token = $1
               AND t.instance_id = '00000000-0000-0000-0000-000000000000'
               AND t.revoked = false
               AND s.oauth_client_id IS NOT DISTINCT FROM $9
               AND (s.not_after IS NULL OR s.not_after >= $3)
               AND ($4::timestamptz IS NULL OR s.created_at >= $4)
               AND ($5::timestamptz IS NULL
                    OR COALESCE(s.refreshed_at AT TIME ZONE 'utc', GREATEST(t.updated_at, s.created_at)) >= $5)
               AND (u.banned_until IS NULL OR u.banned_until <= $3)
             FOR NO KEY UPDATE OF u
             FOR UPDATE OF t, s SKIP LOCKED
         ), old AS (
             UPDATE refresh_tokens SET revoked = true, updated_at = $3 WHERE id = (SELECT id FROM t)
         ), new AS (
             INSERT INTO refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
             SELECT '00000000-0000-0000-0000-000000000000', $2, t.user_id::text, false, $3, $3, t.token, t.session_id
             FROM t
         ), s AS (
             UPDATE sessions
             SET refreshed_at = $3::timestamptz AT TIME ZONE 'utc', updated_at = $3, user_agent = $6, ip = $7
             WHERE id = (SELECT session_id FROM t)
             RETURNING *
         ), u AS (
             UPDATE users SET updated_at = $3 WHERE id = (SELECT user_id FROM t) RETURNING *
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000', e.id,
                    json_strip_nulls(json_build_object(
                        'action', CASE e.n WHEN 1 THEN 'token_refreshed' ELSE 'token_revoked' END,
                        'actor_id', u.id,
                        'actor_name', u.raw_user_meta_data -> 'full_name',
                        'actor_username', COALESCE(NULLIF(u.phone, ''), u.email, ''),
                        'actor_via_sso', u.is_sso_user,
                        'log_type', 'token')),
                    $3::timestamptz + (e.n - 1) * interval '1 microsecond', ''
             FROM u, unnest($8::uuid[]) WITH ORDINALITY AS e (id, n)
         )
         SELECT ", account_columns!(), ", ", session_columns!(), " FROM u CROSS JOIN s"
    ),
};

/// Rotates an unrevoked token of a valid session in one statement; `None` if it changed nothing.
pub async fn rotate_fast(db: &mut Connection, lane: FastRotation<'_>) -> Result<Option<AccountAndSession>> {
    let values = args![
        lane.token,
        lane.successor,
        lane.now,
        lane.timebox_cutoff,
        lane.inactivity_cutoff,
        lane.client.user_agent,
        lane.client.ip.map(IpNetwork::from),
        lane.audit_ids,
        lane.oauth_client,
    ];
    db.fetch_optional(&ROTATE_FAST, values).await
}

/// A token with the input of the refresh decision.
#[derive(Debug)]
pub struct RefreshTokenState {
    /// `id`.
    pub id: i64,
    /// Whether it was exchanged or revoked.
    pub is_revoked: bool,
    /// The time of its last change.
    pub updated_at: Time,
    /// The session's newest unrevoked token.
    pub active: Option<ActiveToken>,
    /// The user.
    pub account: User,
    /// The session; tokens older than the sessions table have none.
    pub session: Option<Session>,
}

/// The newest unrevoked token of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveToken {
    /// The token.
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
            updated_at: row.try_get::<Option<Time>, _>("token_updated_at")?.unwrap_or_default(),
            active: active.map(|token| ActiveToken { token, parent }),
            account: AccountRow::from_row(row)?.0,
            session: SessionRow::from_row(row)?.0,
        })
    }
}

macro_rules! select_token {
    () => {
        concat!(
            "SELECT t.id AS token_id, t.revoked AS token_revoked, t.updated_at AS token_updated_at,
                    newest.token AS active_token, newest.parent AS active_parent,
                    ",
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
             WHERE t.token = $1
               AND t.instance_id = '00000000-0000-0000-0000-000000000000'"
        )
    };
}

const FIND: Statement = Statement { name: "refresh_tokens.facts", sql: select_token!() };
const FIND_LOCKED: Statement = Statement { name: "refresh_tokens.facts_locked", sql: select_token!() };

/// Locks the rows but does not read them, and does not wait.
///
/// A locking statement reads all other rows from a snapshot that is older than its locks.
const LOCK: Statement = Statement {
    name: "refresh_tokens.lock",
    sql: "SELECT t.id
          FROM refresh_tokens t
          JOIN sessions s ON s.id = t.session_id
          JOIN users u ON u.id = s.user_id
          WHERE t.token = $1
            AND t.instance_id = '00000000-0000-0000-0000-000000000000'
          FOR NO KEY UPDATE OF u SKIP LOCKED
          FOR UPDATE OF t, s SKIP LOCKED",
};

/// Returns the token with its session and user.
pub async fn find(db: &mut Connection, token: &str) -> Result<Option<RefreshTokenState>> {
    db.fetch_optional(&FIND, args![token]).await
}

/// Locks user, token and session and returns them; `None` if one is locked elsewhere or gone.
///
/// A second statement reads them, which sees everything committed before the lock was acquired.
pub async fn find_locked(db: &mut Connection, token: &str) -> Result<Option<RefreshTokenState>> {
    let locked: Option<(i64,)> = db.fetch_optional(&LOCK, args![token]).await?;
    if locked.is_none() {
        return Ok(None);
    }
    db.fetch_optional(&FIND_LOCKED, args![token]).await
}

const SESSION: Statement = Statement {
    name: "sessions.with_account",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        ", ",
        session_columns!(),
        "
         FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE s.id = $1"
    ),
};
const SESSION_LOCKED: Statement = Statement {
    name: "sessions.with_account_locked",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        ", ",
        session_columns!(),
        "
         FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE s.id = $1
         FOR UPDATE OF s SKIP LOCKED"
    ),
};

/// Returns the session of a version 2 token, with its user.
pub async fn find_session(db: &mut Connection, id: Uuid) -> Result<Option<AccountAndSession>> {
    db.fetch_optional(&SESSION, args![id]).await
}

/// Locks the session and returns it with its user; `None` if it is locked elsewhere.
///
/// Only the session's own columns may be used for decisions: they are those of the locked row, whereas user and AMR
/// claims are of the statement's snapshot.
pub async fn find_session_locked(db: &mut Connection, id: Uuid) -> Result<Option<AccountAndSession>> {
    db.fetch_optional(&SESSION_LOCKED, args![id]).await
}

/// The writes of a refresh.
#[derive(Debug)]
pub struct RefreshWrite {
    /// The session.
    pub session_id: Uuid,
    /// The user.
    pub user_id: Uuid,
    /// The time of the request.
    pub now: Time,
    /// The client.
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
    /// The successor.
    pub successor: String,
    /// Whether the successor is revoked at once, because the session is upgraded to version 2.
    pub is_retired: bool,
}

const WRITE: Statement = Statement {
    name: "sessions.refresh",
    sql: concat!(
        "WITH s AS (
             UPDATE sessions
             SET refreshed_at = $3::timestamptz AT TIME ZONE 'utc',
                 updated_at = $3,
                 user_agent = $4,
                 ip = $5,
                 refresh_token_counter = COALESCE($10, refresh_token_counter),
                 refresh_token_hmac_key = COALESCE($11, refresh_token_hmac_key)
             WHERE id = $1
             RETURNING *
         ), old AS (
             UPDATE refresh_tokens SET revoked = true, updated_at = $3 WHERE id = $6
         ), new AS (
             INSERT INTO refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
             SELECT '00000000-0000-0000-0000-000000000000', $8, s.user_id::text, $9, $3, $3, $7, s.id
             FROM s
             WHERE $6::bigint IS NOT NULL
         ), touched AS (
             UPDATE users SET updated_at = $3 WHERE id = $2 AND $6::bigint IS NOT NULL
         ), a AS (", audit_insert!(12, 13, 14, 15), ")
         SELECT ", account_columns!(), ", ", session_columns!(), "
         FROM users u CROSS JOIN s
         WHERE u.id = $2"
    ),
};

/// Writes a refresh and returns the updated user and session.
pub async fn write_refresh(db: &mut Connection, refreshed: RefreshWrite) -> Result<Option<AccountAndSession>> {
    let audit = AuditArrays::from_rows(refreshed.audit);
    let rotation = refreshed.rotation;
    let (counter, key) = refreshed.counter.unzip();
    let values = args![
        refreshed.session_id,
        refreshed.user_id,
        refreshed.now,
        refreshed.client.user_agent,
        refreshed.client.ip.map(IpNetwork::from),
        rotation.as_ref().map(|it| it.id),
        rotation.as_ref().map(|it| it.token.as_str()),
        rotation.as_ref().map(|it| it.successor.as_str()),
        rotation.as_ref().is_some_and(|it| it.is_retired),
        counter,
        key.flatten(),
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    db.fetch_optional(&WRITE, values).await
}

const REVOKE_FAMILY: Statement = Statement {
    name: "refresh_tokens.revoke_family",
    sql: "UPDATE refresh_tokens SET revoked = true, updated_at = $2 WHERE session_id = $1 AND revoked = false",
};

/// Revokes every unrevoked token of the session; the session stays.
pub async fn revoke_family(db: &mut Connection, session_id: Uuid, now: Time) -> Result<u64> {
    db.execute(&REVOKE_FAMILY, args![session_id, now]).await
}

const DELETE: Statement = Statement { name: "refresh_tokens.delete", sql: "DELETE FROM refresh_tokens WHERE id = $1" };

/// Deletes a token that has no session.
pub async fn delete(db: &mut Connection, id: i64) -> Result<u64> {
    db.execute(&DELETE, args![id]).await
}

/// All statements of this table.
pub const ALL: &[&Statement] =
    &[&ROTATE_FAST, &FIND, &LOCK, &FIND_LOCKED, &SESSION, &SESSION_LOCKED, &WRITE, &REVOKE_FAMILY, &DELETE];
