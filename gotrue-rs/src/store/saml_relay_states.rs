//! `auth.saml_relay_states`: sign-ins that have been sent to an identity provider, with the flow that waits for them.

use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::user::Time;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::Result;
use super::sso_providers::{ProviderRow, SsoProvider, sso_provider_columns};
use super::statement::{Connection, Statement, args};

/// `provider_type` and `authentication_method` of every flow that starts here.
const METHOD: &str = "sso/saml";

/// A sign-in that is sent to an identity provider.
#[derive(Debug)]
pub struct NewRelayState<'a> {
    /// `id`: what the identity provider sends back as `RelayState`.
    pub id: Uuid,
    /// `sso_provider_id`.
    pub provider: Uuid,
    /// `request_id`: the `ID` of the request, which the answer must name.
    pub request_id: &'a str,
    /// `redirect_to`, as it was asked for; `""` for none.
    pub redirect_to: &'a str,
    /// `id` of the flow.
    pub flow: Uuid,
    /// The challenge with the code that will be exchanged for it; none for an implicit flow.
    pub pkce: Option<(&'a Challenge, Uuid)>,
    /// When it was asked for.
    pub now: Time,
}

const INSERT: Statement = Statement {
    name: "saml_relay_states.insert",
    sql: "WITH f AS (
              INSERT INTO flow_state (id, auth_code, code_challenge_method, code_challenge, provider_type,
                                      provider_access_token, provider_refresh_token, authentication_method, referrer,
                                      email_optional, created_at, updated_at)
              VALUES ($5, $6, $7::code_challenge_method, $8, $9, '', '', $9, NULLIF($4, ''), false, $10, $10)
          )
          INSERT INTO saml_relay_states (id, sso_provider_id, request_id, redirect_to, flow_state_id,
                                         created_at, updated_at)
          VALUES ($1, $2, $3, $4, $5, $10, $10)",
};

/// Keeps a sign-in and its flow until the identity provider answers.
pub async fn insert(db: &mut Connection, new: NewRelayState<'_>) -> Result<()> {
    let values = args![
        new.id,
        new.provider,
        new.request_id,
        new.redirect_to,
        new.flow,
        new.pkce.map(|(_, code)| code.to_string()),
        new.pkce.map(|(challenge, _)| challenge.method.as_str()),
        new.pkce.map(|(challenge, _)| challenge.text.as_str()),
        METHOD,
        new.now,
    ];
    db.execute(&INSERT, values).await?;
    Ok(())
}

/// A sign-in that waits for its answer.
#[derive(Debug)]
pub struct RelayState {
    /// `id`.
    pub id: Uuid,
    /// `request_id`: what the answer must be to.
    pub request_id: String,
    /// `redirect_to`; `""` for none.
    pub redirect_to: String,
    /// `created_at`.
    pub created_at: Time,
    /// The flow, if a code is to be exchanged for the session.
    pub flow: Option<WaitingFlow>,
    /// The provider that was asked.
    pub provider: SsoProvider,
}

/// The flow of a sign-in whose session is exchanged for a code (PKCE).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingFlow {
    /// `id`.
    pub id: Uuid,
    /// `auth_code`: what `?code=` will carry.
    pub auth_code: String,
}

impl FromRow<'_, PgRow> for RelayState {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let code: Option<String> = row.try_get("flow_auth_code")?;
        let flow = match code {
            Some(auth_code) => Some(WaitingFlow { id: row.try_get("flow_id")?, auth_code }),
            None => None,
        };
        Ok(Self {
            id: row.try_get("relay_id")?,
            request_id: row.try_get("relay_request_id")?,
            redirect_to: row.try_get("relay_redirect_to")?,
            created_at: row.try_get("relay_created_at")?,
            flow,
            provider: ProviderRow::from_row(row)?.0,
        })
    }
}

/// Only a flow with a challenge has a code to hand out.
const BY_ID: Statement = Statement {
    name: "saml_relay_states.by_id",
    sql: concat!(
        "SELECT r.id AS relay_id, r.request_id AS relay_request_id, COALESCE(r.redirect_to, '') AS relay_redirect_to,
                COALESCE(r.created_at, 'epoch') AS relay_created_at, f.id AS flow_id, f.auth_code AS flow_auth_code, ",
        sso_provider_columns!(),
        "
         FROM saml_relay_states r
         JOIN sso_providers p ON p.id = r.sso_provider_id
         JOIN saml_providers s ON s.sso_provider_id = p.id
         LEFT JOIN flow_state f ON f.id = r.flow_state_id AND f.code_challenge <> ''
         WHERE r.id = $1"
    ),
};

/// The sign-in that a relay state names, with its flow and its provider.
pub async fn by_id(db: &mut Connection, id: Uuid) -> Result<Option<RelayState>> {
    db.optional(&BY_ID, args![id]).await
}

const DELETE: Statement =
    Statement { name: "saml_relay_states.delete", sql: "DELETE FROM saml_relay_states WHERE id = $1" };

/// Uses a relay state up; whether it was there: of two answers at once one deletes it.
pub async fn delete(db: &mut Connection, id: Uuid) -> Result<bool> {
    Ok(db.execute(&DELETE, args![id]).await? > 0)
}

const CLAIM: Statement = Statement {
    name: "saml_relay_states.claim",
    sql: "UPDATE flow_state SET user_id = $2, updated_at = $3 WHERE id = $1 AND user_id IS NULL",
};

/// Gives the flow of a sign-in to the account that came of it; false if it belongs to one, or is gone.
pub async fn claim(db: &mut Connection, flow: Uuid, account: Uuid, now: Time) -> Result<bool> {
    Ok(db.execute(&CLAIM, args![flow, account, now]).await? > 0)
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&INSERT, &BY_ID, &DELETE, &CLAIM];
