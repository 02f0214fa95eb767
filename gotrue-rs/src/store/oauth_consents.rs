//! `auth.oauth_consents`: the users' consents to OAuth clients.
//!
//! [`super::oauth_authorizations::approve`] inserts them.

use foundation::time::Time;
use gotrue_rules::domain::oauth_server::OAuthClient;
use platform::journal::{EndedSessions, Fact, FactCondition};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};
use super::oauth_clients::{ClientRow, client_columns};

statements! {
    #[repeatable]
    OF_ACCOUNT = "oauth_consents.of_account": concat!(
        "SELECT ",
        client_columns!(),
        ", k.scopes, k.granted_at
         FROM oauth_consents k
         JOIN oauth_clients c ON c.id = k.client_id
         WHERE k.user_id = :user_id
           AND k.revoked_at IS NULL
           AND c.deleted_at IS NULL
         ORDER BY k.granted_at DESC, k.id"
    );

    REVOKE = "oauth_consents.revoke":
        "UPDATE oauth_consents
         SET revoked_at = GREATEST(:now, granted_at)
         WHERE user_id = :user_id
           AND client_id = :client_id
           AND revoked_at IS NULL";

    #[proves(Audit, SessionsEnded)]
    END_SESSIONS = "oauth_consents.end_sessions": "
        WITH u AS (
            SELECT id FROM users WHERE id = :user_id FOR NO KEY UPDATE
        ), s AS (
            DELETE FROM sessions WHERE user_id = (SELECT id FROM u) AND oauth_client_id = :client_id
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";
}

/// A user's consent to a client.
#[derive(Debug)]
pub struct ConsentGrant {
    pub client: OAuthClient,
    /// `scopes`, space-separated.
    pub scopes: String,
    pub granted_at: Time,
}

struct ConsentRow(Option<ConsentGrant>);

impl FromRow<'_, PgRow> for ConsentRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let Some(client) = ClientRow::from_row(row)?.0 else { return Ok(Self(None)) };
        let (scopes, granted_at) = (row.try_get("scopes")?, TimeColumn::read(row, "granted_at")?);
        Ok(Self(Some(ConsentGrant { client, scopes, granted_at })))
    }
}

/// Returns the user's consents, newest first.
pub async fn list_by_user(db: &mut Connection, user_id: Uuid) -> Result<Vec<ConsentGrant>> {
    let rows: Vec<ConsentRow> = db.fetch_all(bind!(OF_ACCOUNT, user_id)).await?;
    Ok(rows.into_iter().filter_map(|row| row.0).collect())
}

/// A consent to revoke.
#[derive(Debug, Clone, Copy)]
pub struct ConsentRevocation {
    pub user_id: Uuid,
    pub client_id: Uuid,
    /// `revoked_at`.
    pub now: Time,
}

/// Revokes the user's consent and deletes the client's sessions; false if there was no consent.
///
/// Unexchanged codes of the client become invalid with the consent.
///
/// Requires a transaction: only a second statement sees a session that a code exchange created while the first one
/// waited.
pub async fn revoke(db: &mut Connection, revoked: ConsentRevocation, audit: Vec<AuditRow>) -> Result<bool> {
    let ConsentRevocation { user_id, client_id, now } = revoked;
    if db.execute(bind!(REVOKE, user_id, client_id, now)).await? == 0 {
        return Ok(false);
    }
    let audit = AuditArrays::from_rows(audit);
    let sessions = EndedSessions { client_id: Some(client_id), ..EndedSessions::of_user(user_id) };
    let ended = || Fact::SessionsEnded(sessions);
    db.note(FactCondition::Statement, ended);
    let bound = bind!(END_SESSIONS, user_id, client_id, ..audit);
    db.execute(bound).await?;
    Ok(true)
}
