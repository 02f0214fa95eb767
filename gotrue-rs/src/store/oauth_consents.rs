//! `auth.oauth_consents`: the users' consents to OAuth clients.
//!
//! [`super::oauth_authorizations::approve`] inserts them.

use gotrue_rules::domain::oauth_server::OAuthClient;
use gotrue_rules::domain::user::Time;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::oauth_clients::{ClientRow, client_columns};
use super::statement::{Connection, Statement, args};

/// A user's consent to a client.
#[derive(Debug)]
pub struct ConsentGrant {
    /// The client.
    pub client: OAuthClient,
    /// `scopes`, space-separated.
    pub scopes: String,
    /// `granted_at`.
    pub granted_at: Time,
}

struct ConsentRow(Option<ConsentGrant>);

impl FromRow<'_, PgRow> for ConsentRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let Some(client) = ClientRow::from_row(row)?.0 else { return Ok(Self(None)) };
        let (scopes, granted_at) = (row.try_get("scopes")?, row.try_get("granted_at")?);
        Ok(Self(Some(ConsentGrant { client, scopes, granted_at })))
    }
}

const OF_ACCOUNT: Statement = Statement {
    name: "oauth_consents.of_account",
    sql: concat!(
        "SELECT ",
        client_columns!(),
        ", k.scopes, k.granted_at
         FROM oauth_consents k
         JOIN oauth_clients c ON c.id = k.client_id
         WHERE k.user_id = $1
           AND k.revoked_at IS NULL
           AND c.deleted_at IS NULL
         ORDER BY k.granted_at DESC, k.id"
    ),
};

/// Returns the user's consents, newest first.
pub async fn list_by_user(db: &mut Connection, user_id: Uuid) -> Result<Vec<ConsentGrant>> {
    let rows: Vec<ConsentRow> = db.fetch_all(&OF_ACCOUNT, args![user_id]).await?;
    Ok(rows.into_iter().filter_map(|row| row.0).collect())
}

const REVOKE: Statement = Statement {
    name: "oauth_consents.revoke",
    sql: "UPDATE oauth_consents
          SET revoked_at = GREATEST($3, granted_at)
          WHERE user_id = $1
            AND client_id = $2
            AND revoked_at IS NULL",
};

/// A consent to revoke.
#[derive(Debug, Clone, Copy)]
pub struct ConsentRevocation {
    /// The user.
    pub user_id: Uuid,
    /// The client.
    pub client_id: Uuid,
    /// `revoked_at`.
    pub now: Time,
}

const END_SESSIONS: Statement = Statement {
    name: "oauth_consents.end_sessions",
    sql: concat!(
        "WITH u AS (
             SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE
         ), s AS (
             DELETE FROM sessions WHERE user_id = (SELECT id FROM u) AND oauth_client_id = $2
         )
         ",
        audit_insert!(3, 4, 5, 6)
    ),
};

/// Revokes the user's consent and deletes the client's sessions; false if there was no consent.
///
/// Unexchanged codes of the client become invalid with the consent.
///
/// Requires a transaction: only a second statement sees a session that a code exchange created while the first one
/// waited.
pub async fn revoke(db: &mut Connection, revoked: ConsentRevocation, audit: Vec<AuditRow>) -> Result<bool> {
    let ConsentRevocation { user_id, client_id, now } = revoked;
    if db.execute(&REVOKE, args![user_id, client_id, now]).await? == 0 {
        return Ok(false);
    }
    let audit = AuditArrays::from_rows(audit);
    let values = args![user_id, client_id, audit.ids, audit.payloads, audit.times, audit.addresses];
    db.execute(&END_SESSIONS, values).await?;
    Ok(true)
}

/// All statements of this table.
pub const ALL: &[&Statement] = &[&OF_ACCOUNT, &REVOKE, &END_SESSIONS];
