//! `auth.saml_relay_states`: pending SAML sign-ins with their flow state.

use foundation::time::Time;
use gotrue_rules::domain::pkce::Challenge;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::sso_providers::{ProviderRow, SsoProvider, sso_provider_columns};

statements! {
    INSERT = "saml_relay_states.insert":
        "WITH f AS (
             INSERT INTO flow_state (id, auth_code, code_challenge_method, code_challenge, provider_type,
                                     provider_access_token, provider_refresh_token, authentication_method, referrer,
                                     email_optional, created_at, updated_at)
             VALUES (:flow_id, :auth_code, :challenge_method::code_challenge_method, :challenge, :flow_method, '', '',
                     :flow_method, NULLIF(:redirect_to, ''), false, :now, :now)
         )
         INSERT INTO saml_relay_states (id, sso_provider_id, request_id, redirect_to, flow_state_id,
                                        created_at, updated_at)
         VALUES (:relay_state_id, :sso_provider_id, :request_id, :redirect_to, :flow_id, :now, :now)";

    /// Only a flow with a challenge has a code.
    #[repeatable]
    BY_ID = "saml_relay_states.by_id": concat!(
        "SELECT r.id AS relay_id, r.request_id AS relay_request_id, COALESCE(r.redirect_to, '') AS relay_redirect_to,
                COALESCE(r.created_at, 'epoch') AS relay_created_at, f.id AS flow_id, f.auth_code AS flow_auth_code,
                    ",
        sso_provider_columns!(),
        "
         FROM saml_relay_states r
         JOIN sso_providers p ON p.id = r.sso_provider_id
         JOIN saml_providers s ON s.sso_provider_id = p.id
         LEFT JOIN flow_state f ON f.id = r.flow_state_id AND f.code_challenge <> ''
         WHERE r.id = :relay_state_id"
    );

    DELETE = "saml_relay_states.delete": "DELETE FROM saml_relay_states WHERE id = :relay_state_id";

    ASSIGN_USER = "saml_relay_states.assign_user":
        "UPDATE flow_state SET user_id = :user_id, updated_at = :now WHERE id = :flow_id AND user_id IS NULL";
}

/// `provider_type` and `authentication_method` of every SAML flow.
const FLOW_METHOD: &str = "sso/saml";

/// A SAML sign-in to insert.
#[derive(Debug)]
pub struct NewRelayState<'a> {
    /// `id`: the `RelayState` parameter.
    pub id: Uuid,
    /// `sso_provider_id`.
    pub provider: Uuid,
    /// `request_id`: the `ID` of the `AuthnRequest`, which the response must name as `InResponseTo`.
    pub request_id: &'a str,
    /// `redirect_to` as requested; `""` for none.
    pub redirect_to: &'a str,
    /// `id` of the flow.
    pub flow: Uuid,
    /// The client's PKCE challenge and the authorization code issued for it; `None` for an implicit flow.
    pub pkce: Option<(&'a Challenge, Uuid)>,
    /// The time of the request.
    pub now: Time,
}

/// Inserts a sign-in and its flow.
pub async fn insert(db: &mut Connection, new: NewRelayState<'_>) -> Result<()> {
    let bound = bind!(
        INSERT,
        relay_state_id: new.id,
        sso_provider_id: new.provider,
        request_id: new.request_id,
        redirect_to: new.redirect_to,
        flow_id: new.flow,
        auth_code: new.pkce.map(|(_, code)| code.to_string()),
        challenge_method: new.pkce.map(|(challenge, _)| challenge.method.as_str()),
        challenge: new.pkce.map(|(challenge, _)| challenge.value.as_str()),
        flow_method: FLOW_METHOD,
        now: new.now,
    );
    db.execute(bound).await?;
    Ok(())
}

/// A pending SAML sign-in.
#[derive(Debug)]
pub struct RelayState {
    pub id: Uuid,
    /// `request_id`: the expected `InResponseTo`.
    pub request_id: String,
    /// `redirect_to`; `""` for none.
    pub redirect_to: String,
    pub created_at: Time,
    /// The flow of a PKCE sign-in.
    pub flow: Option<WaitingFlow>,
    /// The identity provider.
    pub provider: SsoProvider,
}

/// The PKCE flow of a pending sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingFlow {
    pub id: Uuid,
    /// `auth_code`: the value of `?code=`.
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
            created_at: TimeColumn::read(row, "relay_created_at")?,
            flow,
            provider: ProviderRow::from_row(row)?.0,
        })
    }
}

/// Returns the sign-in of a relay state, with its flow and provider.
pub async fn find_by_id(db: &mut Connection, id: Uuid) -> Result<Option<RelayState>> {
    db.fetch_optional(bind!(BY_ID, relay_state_id: id)).await
}

/// Deletes a relay state; false if it was gone. Of two concurrent responses one deletes it.
pub async fn delete(db: &mut Connection, id: Uuid) -> Result<bool> {
    Ok(db.execute(bind!(DELETE, relay_state_id: id)).await? > 0)
}

/// Assigns the user to the flow of a sign-in; false if the flow has a user or is gone.
pub async fn assign_user(db: &mut Connection, flow: Uuid, user: Uuid, now: Time) -> Result<bool> {
    Ok(db.execute(bind!(ASSIGN_USER, flow_id: flow, user_id: user, now)).await? > 0)
}
