//! `auth.sessions` with the rows written together with them: AMR claims and the first refresh token.

use std::net::IpAddr;

use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::user::{Time, User};
use ipnet::IpNet;
use sqlx::types::ipnetwork::IpNetwork;
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::rows::{AccountRow, SessionRow, account_columns, session_columns};
use super::statement::{Connection, Statement, args};

/// A session to insert.
#[derive(Debug)]
pub struct NewSession {
    /// `id`.
    pub id: Uuid,
    /// The user.
    pub user_id: Uuid,
    /// `created_at`, and the user's `last_sign_in_at`.
    pub now: Time,
    /// `not_after`.
    pub not_after: Option<Time>,
    /// `user_agent`.
    pub user_agent: Option<String>,
    /// `ip`.
    pub ip: Option<IpAddr>,
    /// `oauth_client_id`.
    pub oauth_client_id: Option<Uuid>,
    /// `scopes`.
    pub scopes: Option<String>,
    /// The first refresh token (version 1); `None` for version 2.
    pub refresh_token: Option<String>,
    /// `refresh_token_hmac_key` (version 2).
    pub hmac_key: Option<String>,
    /// The id of the AMR claim's row.
    pub amr_id: Uuid,
    /// The authentication method.
    pub method: String,
    /// The password hash that was verified: if the user has another by now, no session is created.
    pub expected_password_hash: Option<String>,
    /// Audit rows of the sign-in.
    pub audit: Vec<AuditRow>,
}

const CREATE: Statement = Statement {
    name: "sessions.open",
    sql: concat!(
        "WITH u AS (
             UPDATE users SET last_sign_in_at = $3, updated_at = $3
             WHERE id = $2
               AND ($17::text IS NULL OR encrypted_password = $17)
             RETURNING *
         ), s AS (
             INSERT INTO sessions (id, user_id, created_at, updated_at, aal, not_after, user_agent, ip,
                                   oauth_client_id, scopes, refresh_token_hmac_key, refresh_token_counter)
             SELECT $1, u.id, $3, $3, 'aal1', $4, $5, $6, $7, $8, $9::text, CASE WHEN $9::text IS NULL THEN NULL ELSE 0 END
             FROM u
             RETURNING id, user_id
         ), t AS (
             INSERT INTO refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
             SELECT '00000000-0000-0000-0000-000000000000', $10::text, s.user_id::text, false, $3, $3, s.id
             FROM s
             WHERE $10::text IS NOT NULL
         ), c AS (
             INSERT INTO mfa_amr_claims (id, session_id, authentication_method, created_at, updated_at)
             SELECT $11, s.id, $12, $3, $3 FROM s
         ), a AS (",
        audit_insert!(13, 14, 15, 16),
        " WHERE EXISTS (SELECT FROM u))
         SELECT ",
        account_columns!(),
        " FROM u"
    ),
};

/// Creates a session and returns the updated user.
///
/// `None` if the user is gone or the verified password has changed.
///
/// One statement, usable with and without a transaction.
pub async fn create(db: &mut Connection, new: NewSession) -> Result<Option<User>> {
    let audit = AuditArrays::from_rows(new.audit);
    let values = args![
        new.id,
        new.user_id,
        new.now,
        new.not_after,
        new.user_agent,
        new.ip.map(IpNetwork::from),
        new.oauth_client_id,
        new.scopes,
        new.hmac_key,
        new.refresh_token,
        new.amr_id,
        new.method,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
        new.expected_password_hash,
    ];
    let row: Option<AccountRow> = db.fetch_optional(&CREATE, values).await?;
    Ok(row.map(|row| row.0))
}

const LIST_BY_USER: Statement = Statement {
    name: "sessions.of_account",
    sql: concat!("SELECT ", session_columns!(), " FROM sessions s WHERE s.user_id = $1"),
};

/// Returns all sessions of the user.
pub async fn list_by_user(db: &mut Connection, user_id: Uuid) -> Result<Vec<Session>> {
    let rows: Vec<SessionRow> = db.fetch_all(&LIST_BY_USER, args![user_id]).await?;
    Ok(rows.into_iter().filter_map(|row| row.0).collect())
}

const HAS_SESSION_FROM: Statement = Statement {
    name: "sessions.is_any_from",
    sql: "SELECT EXISTS (SELECT FROM sessions WHERE user_id = $1 AND ip <<= $2::inet)",
};

/// Whether the user has a session that was last used from an address in that network.
pub async fn has_session_from(db: &mut Connection, user_id: Uuid, network: IpNet) -> Result<bool> {
    let network = IpNetwork::new(network.addr(), network.prefix_len());
    let Ok(network) = network else { return Ok(false) };
    let (found,): (bool,) = db.fetch_one(&HAS_SESSION_FROM, args![user_id, network]).await?;
    Ok(found)
}

/// The sessions of a user to delete.
#[derive(Debug, Clone, Copy)]
pub enum SessionSelection {
    /// All sessions.
    All,
    /// This session.
    Only(Uuid),
    /// All sessions except this one.
    AllBut(Uuid),
}

const DELETE: Statement = Statement {
    name: "sessions.delete_one",
    sql: concat!(
        "WITH s AS (
             DELETE FROM sessions WHERE user_id = $1 AND id = $2
         )
         ",
        audit_insert!(3, 4, 5, 6)
    ),
};

/// Locks the user first, so that two statements that delete several sessions are serialized.
const DELETE_OF_ACCOUNT: Statement = Statement {
    name: "sessions.delete",
    sql: concat!(
        "WITH u AS (
             SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE
         ), s AS (
             DELETE FROM sessions
             WHERE user_id = (SELECT id FROM u)
               AND ($2::uuid IS NULL OR id <> $2)
         )
         ",
        audit_insert!(3, 4, 5, 6)
    ),
};

/// Deletes sessions of the user with their AMR claims and refresh tokens, and writes the audit rows.
pub async fn delete(db: &mut Connection, user_id: Uuid, ending: SessionSelection, audit: Vec<AuditRow>) -> Result<()> {
    let (statement, session) = match ending {
        SessionSelection::All => (&DELETE_OF_ACCOUNT, None),
        SessionSelection::Only(id) => (&DELETE, Some(id)),
        SessionSelection::AllBut(id) => (&DELETE_OF_ACCOUNT, Some(id)),
    };
    let audit = AuditArrays::from_rows(audit);
    db.execute(statement, args![user_id, session, audit.ids, audit.payloads, audit.times, audit.addresses]).await?;
    Ok(())
}

/// All statements of this table.
pub const ALL: &[&Statement] = &[&CREATE, &LIST_BY_USER, &HAS_SESSION_FROM, &DELETE, &DELETE_OF_ACCOUNT];
