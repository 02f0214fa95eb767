//! `auth.sessions` with the rows that are written together with them: methods and the first refresh token.

use std::net::IpAddr;

use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::user::{Account, Time};
use ipnet::IpNet;
use sqlx::types::ipnetwork::IpNetwork;
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::rows::{AccountRow, SessionRow, account_columns, session_columns};
use super::statement::{Connection, Statement, args};

/// A session to be opened.
#[derive(Debug)]
pub struct NewSession {
    /// `id`.
    pub id: Uuid,
    /// Whose it is.
    pub user_id: Uuid,
    /// `created_at`, and the account's `last_sign_in_at`.
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
    /// The first refresh token of version 1; none for a session whose tokens are of version 2.
    pub refresh_token: Option<String>,
    /// `refresh_token_hmac_key` of version 2.
    pub hmac_key: Option<String>,
    /// The id of the method's row.
    pub amr_id: Uuid,
    /// How it was proved.
    pub method: String,
    /// The password hash that the proof relied on: if the account has another by now, nothing is opened.
    pub relied_on: Option<String>,
    /// What the audit log is told.
    pub audit: Vec<AuditRow>,
}

const OPEN: Statement = Statement {
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

/// Opens a session: the account as it is then, or none if it is gone or no longer what the proof
/// relied on. One statement, alone or in a transaction.
pub async fn open(db: &mut Connection, new: NewSession) -> Result<Option<Account>> {
    let audit = AuditArrays::of(new.audit);
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
        new.relied_on,
    ];
    let row: Option<AccountRow> = db.optional(&OPEN, values).await?;
    Ok(row.map(|row| row.0))
}

const OF_ACCOUNT: Statement = Statement {
    name: "sessions.of_account",
    sql: concat!("SELECT ", session_columns!(), " FROM sessions s WHERE s.user_id = $1"),
};

/// All sessions of the account.
pub async fn of_account(db: &mut Connection, user_id: Uuid) -> Result<Vec<Session>> {
    let rows: Vec<SessionRow> = db.all(&OF_ACCOUNT, args![user_id]).await?;
    Ok(rows.into_iter().filter_map(|row| row.0).collect())
}

const IS_ANY_FROM: Statement = Statement {
    name: "sessions.is_any_from",
    sql: "SELECT EXISTS (SELECT FROM sessions WHERE user_id = $1 AND ip <<= $2::inet)",
};

/// Whether the account has a session that was last used from an address in that network.
pub async fn is_any_from(db: &mut Connection, user_id: Uuid, network: IpNet) -> Result<bool> {
    let network = IpNetwork::new(network.addr(), network.prefix_len());
    let Ok(network) = network else { return Ok(false) };
    let (found,): (bool,) = db.one(&IS_ANY_FROM, args![user_id, network]).await?;
    Ok(found)
}

/// Which sessions of an account to end.
#[derive(Debug, Clone, Copy)]
pub enum Ending {
    /// All of them.
    All,
    /// This one.
    Only(Uuid),
    /// All but this one.
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

/// Locks the account first, so that two statements that delete several sessions do so one after the other.
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

/// Ends sessions of the account; their methods and refresh tokens go with them. Audit rows ride along.
pub async fn delete(db: &mut Connection, user_id: Uuid, ending: Ending, audit: Vec<AuditRow>) -> Result<()> {
    let (statement, session) = match ending {
        Ending::All => (&DELETE_OF_ACCOUNT, None),
        Ending::Only(id) => (&DELETE, Some(id)),
        Ending::AllBut(id) => (&DELETE_OF_ACCOUNT, Some(id)),
    };
    let audit = AuditArrays::of(audit);
    db.execute(statement, args![user_id, session, audit.ids, audit.payloads, audit.times, audit.addresses]).await?;
    Ok(())
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&OPEN, &OF_ACCOUNT, &IS_ANY_FROM, &DELETE, &DELETE_OF_ACCOUNT];
