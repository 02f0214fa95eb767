//! Flow states of sign-ins through external providers.

use foundation::time::Time;
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::user::User;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::store::rows::{UserRow, account_columns};

statements! {
    INSERT = "flow_state.insert_external":
        "WITH s AS (
             INSERT INTO oauth_client_states (id, provider_type, code_verifier, created_at)
             SELECT :verifier_id::uuid, :provider::text, :verifier::text, :now::timestamptz
             WHERE :verifier_id::uuid IS NOT NULL
         )
         INSERT INTO flow_state (id, auth_code, code_challenge_method, code_challenge, provider_type,
                                 provider_access_token, provider_refresh_token, authentication_method, invite_token,
                                 referrer, oauth_client_state_id, linking_target_id, email_optional, created_at,
                                 updated_at)
         VALUES (:flow_id, :auth_code, :challenge_method::code_challenge_method, :challenge, :provider, '', '',
                 'oauth', :invite_token, :redirect_to, :verifier_id, :linking_target, :email_optional, :now, :now)";

    #[repeatable]
    BY_STATE = "flow_state.by_state": concat!(
        "SELECT f.id AS flow_id, f.provider_type AS flow_provider, COALESCE(f.code_challenge,
            '') <> '' AS flow_is_pkce,
                f.user_id IS NOT NULL AS flow_is_used, f.invite_token AS flow_invite_token, f.referrer AS flow_target,
                f.oauth_client_state_id AS flow_verifier, f.linking_target_id AS flow_linking_target,
                f.email_optional AS flow_email_optional, f.created_at AS flow_created_at, ",
        account_columns!(),
        "
         FROM flow_state f
         LEFT JOIN users u ON u.id = f.linking_target_id
         WHERE f.id = :flow_id
           AND f.authentication_method = 'oauth'"
    );

    COMPLETE = "flow_state.complete":
        "UPDATE flow_state
         SET user_id = :user_id,
             provider_access_token = :access_token,
             provider_refresh_token = :refresh_token,
             auth_code_issued_at = :now,
             updated_at = :now
         WHERE id = :flow_id
           AND user_id IS NULL
         RETURNING auth_code";
}

/// A flow that redirects a browser to a provider.
#[derive(Debug)]
pub struct NewExternalFlow<'a> {
    /// `id`: the `state` parameter.
    pub id: Uuid,
    /// `provider_type`: the provider as requested.
    pub provider: &'a str,
    /// The client's PKCE challenge and the authorization code issued for it; `None` for an implicit flow.
    pub pkce: Option<(&'a Challenge, Uuid)>,
    /// `invite_token`; `None` without one.
    pub invite_token: Option<&'a str>,
    /// `referrer`: the final redirect URL.
    pub redirect_to: &'a str,
    /// Id and text of the server's own PKCE verifier; `None` for a provider without PKCE.
    pub verifier: Option<(Uuid, &'a str)>,
    /// `linking_target_id`: the user that gets the identity (manual linking).
    pub linking_target: Option<Uuid>,
    pub email_optional: bool,
    /// The time of the request.
    pub now: Time,
}

/// Inserts a flow and its verifier.
pub async fn insert(db: &mut Connection, new: NewExternalFlow<'_>) -> Result<()> {
    let bound = bind!(
        INSERT,
        flow_id: new.id,
        auth_code: new.pkce.map(|(_, code)| code.to_string()),
        challenge_method: new.pkce.map(|(challenge, _)| challenge.method.as_str()),
        challenge: new.pkce.map(|(challenge, _)| challenge.value.as_str()),
        provider: new.provider,
        invite_token: new.invite_token,
        redirect_to: new.redirect_to,
        verifier_id: new.verifier.map(|(id, _)| id),
        verifier: new.verifier.map(|(_, text)| text),
        linking_target: new.linking_target,
        email_optional: new.email_optional,
        now: new.now,
    );
    db.execute(bound).await?;
    Ok(())
}

/// A flow found by the `state` of a callback.
#[derive(Debug)]
pub struct ExternalFlow {
    pub id: Uuid,
    /// `provider_type`: the provider as requested.
    pub provider: String,
    /// Whether the flow ends with a code instead of a session.
    pub is_pkce: bool,
    /// Whether the flow already has a user: the callback was processed before.
    pub is_used: bool,
    /// `invite_token`; empty for none.
    pub invite_token: String,
    /// `referrer`; empty for none.
    pub redirect_to: String,
    /// `oauth_client_state_id`.
    pub verifier: Option<Uuid>,
    /// The user of a manual link.
    pub linking: LinkingTarget,
    pub email_optional: bool,
    pub created_at: Time,
}

/// The target of a manual link.
#[derive(Debug)]
pub enum LinkingTarget {
    /// No manual linking: the user is determined by the identity.
    None,
    User(Box<User>),
    /// The user no longer exists.
    Deleted,
}

impl FromRow<'_, PgRow> for ExternalFlow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let text = |column| Ok::<_, sqlx::Error>(row.try_get::<Option<String>, _>(column)?.unwrap_or_default());
        let is_for = row.try_get::<Option<Uuid>, _>("flow_linking_target")?;
        let linking = match (is_for, row.try_get::<Option<Uuid>, _>("id")?) {
            (None, _) => LinkingTarget::None,
            (Some(_), Some(_)) => LinkingTarget::User(Box::new(UserRow::from_row(row)?.0)),
            (Some(_), None) => LinkingTarget::Deleted,
        };
        Ok(Self {
            id: row.try_get("flow_id")?,
            provider: row.try_get("flow_provider")?,
            is_pkce: row.try_get("flow_is_pkce")?,
            is_used: row.try_get("flow_is_used")?,
            invite_token: text("flow_invite_token")?,
            redirect_to: text("flow_target")?,
            verifier: row.try_get("flow_verifier")?,
            linking,
            email_optional: row.try_get("flow_email_optional")?,
            created_at: <Option<Time> as TimeColumn>::read(row, "flow_created_at")?.unwrap_or_default(),
        })
    }
}

/// Returns the flow of a state with its linking target.
///
/// `None` for an unknown id or a flow of another kind.
pub async fn find_by_state(db: &mut Connection, state: Uuid) -> Result<Option<ExternalFlow>> {
    db.fetch_optional(bind!(BY_STATE, flow_id: state)).await
}

/// The result of a provider's sign-in.
#[derive(Debug)]
pub struct ExternalSignIn<'a> {
    pub id: Uuid,
    pub user_id: Uuid,
    /// `provider_access_token`; empty for none.
    pub access_token: &'a str,
    /// `provider_refresh_token`; empty for none.
    pub refresh_token: &'a str,
    /// The time of the request.
    pub now: Time,
}

/// Stores user and provider tokens once and returns the code: of two concurrent callbacks one gets it.
pub async fn complete(db: &mut Connection, settled: ExternalSignIn<'_>) -> Result<Option<String>> {
    let ExternalSignIn { id, user_id, access_token, refresh_token, now } = settled;
    let row: Option<(Option<String>,)> =
        db.fetch_optional(bind!(COMPLETE, flow_id: id, user_id, access_token, refresh_token, now)).await?;
    Ok(row.and_then(|(code,)| code))
}
