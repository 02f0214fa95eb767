//! `GET /oauth/authorize`: stores a client's request and redirects the browser to the consent page.
//!
//! Until client and redirect URI are validated, errors are returned instead of redirected; those of dynamically registered
//! clients always, where the policy says so.

use chrono::TimeDelta;
use foundation::error::{Error, ErrorCode, OAuthErrorCode, Result};
use foundation::error_chain::ErrorChain;
use foundation::time::Time;
use gotrue_rules::domain::oauth_server::authorization::{
    AuthorizationParameters, AuthorizationRequest, validate_parameters,
};
use gotrue_rules::domain::oauth_server::redirect_uri::{RedirectUriRules, validate_redirect_uri};
use gotrue_rules::domain::oauth_server::{OAuthClient, RegistrationType};
use gotrue_rules::wire::redirect::encode_location;
use gotrue_rules::wire::uuid::parse_uuid;
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::oauth_server::redirect_with_parameters;
use crate::store::oauth_authorizations::{self, NewAuthorization};
use crate::store::oauth_clients;

/// The parameters that must not be repeated, beside `client_id` and `redirect_uri`.
const SINGLE_PARAMETERS: [&str; 7] =
    ["response_type", "scope", "state", "resource", "code_challenge", "code_challenge_method", "nonce"];

/// Redirects (302) to the consent page, or back to the client with an error.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let client = load_client(&cx).await?;
    let target = match request_consent(&cx, &client).await {
        Ok(page) => page,
        // Nothing is stored: the browser may send the request again.
        Err(_) if cx.journal.has_lost_database() => return Err(Error::database_unavailable()),
        // A link to this server must not lead to the page of a client that no user has approved.
        Err((error, description)) if is_unconfirmed(&cx, &client) => return Err(Error::oauth(error, description)),
        Err((error, description)) => {
            cx.journal.record_redirected_error(&Error::oauth(error, description.clone()));
            let members = [("error", error.as_str()), ("error_description", &*description)];
            redirect_with_parameters(query_parameter(&cx, "redirect_uri"), &members, query_parameter(&cx, "state"))?
        }
    };
    Ok(Reply::found(&encode_location(&target)))
}

fn query_parameter<'a>(cx: &'a RequestContext, name: &str) -> &'a str {
    cx.request.query(name).unwrap_or_default()
}

fn is_repeated_refused(cx: &RequestContext, name: &str) -> bool {
    cx.app.policy.oauth_server.is_repeated_parameter_rejected && cx.request.is_repeated(name)
}

/// Whether no one vouches for the client's redirect URI: it registered itself, and the user is not known yet.
fn is_unconfirmed(cx: &RequestContext, client: &OAuthClient) -> bool {
    cx.app.policy.oauth_server.are_unconfirmed_redirects_rejected
        && client.registration_type == RegistrationType::Dynamic
}

/// Loads the client and validates its redirect URI.
async fn load_client(cx: &RequestContext) -> Result<OAuthClient> {
    for name in ["client_id", "redirect_uri"] {
        if query_parameter(cx, name).is_empty() {
            return Err(Error::invalid(format!("{name} is required")));
        }
        if is_repeated_refused(cx, name) {
            return Err(Error::invalid(format!("{name} is given more than once")));
        }
    }
    let unknown = |message| Error::http(400, ErrorCode::OAuthClientNotFound, message);
    let id = parse_uuid(query_parameter(cx, "client_id")).ok_or_else(|| unknown("invalid client_id format"))?;
    let found = oauth_clients::find_by_id(&mut cx.db(), id).await.or_internal_error("error validating client")?;
    let client = found.ok_or_else(|| unknown("invalid client_id"))?;
    let target = query_parameter(cx, "redirect_uri");
    let rules = RedirectUriRules::from_policy(&cx.app.policy.oauth_server);
    let is_careful = rules.is_comma_rejected || rules.is_strict;
    if !client.has_redirect_uri(target) || is_careful && validate_redirect_uri(target, rules).is_err() {
        return Err(Error::invalid("invalid redirect_uri"));
    }
    Ok(client)
}

/// An OAuth error and its description.
type AuthorizationError = (OAuthErrorCode, String);

/// Stores the request and returns the URL of the consent page.
async fn request_consent(cx: &RequestContext, client: &OAuthClient) -> Result<String, AuthorizationError> {
    let invalid = |description| (OAuthErrorCode::InvalidRequest, description);
    if let Some(twice) = SINGLE_PARAMETERS.into_iter().find(|name| is_repeated_refused(cx, name)) {
        return Err(invalid(format!("{twice} is given more than once")));
    }
    let policy = &cx.app.policy.oauth_server;
    let request = validate_parameters(
        AuthorizationParameters {
            response_type: query_parameter(cx, "response_type"),
            scope: query_parameter(cx, "scope"),
            resource: query_parameter(cx, "resource"),
            challenge: query_parameter(cx, "code_challenge"),
            challenge_method: query_parameter(cx, "code_challenge_method"),
        },
        policy,
    )
    .map_err(invalid)?;
    let page = consent_page_url(cx)
        .ok_or_else(|| (OAuthErrorCode::ServerError, "oauth authorization path not configured".to_owned()))?;
    let name = store_request(cx, client, &request).await?;
    Ok(format!("{page}?authorization_id={name}"))
}

/// The URL of the consent page: the operator's, below the site URL, else the built-in one.
fn consent_page_url(cx: &RequestContext) -> Option<String> {
    let policy = &cx.app.policy.oauth_server;
    let path = policy.authorization_path.as_str();
    if path.is_empty() {
        return Some(policy.consent_page.clone()).filter(|page| !page.is_empty());
    }
    let site = cx.app.policy.site.site_url.trim_end_matches('/');
    let slash = if path.starts_with('/') { "" } else { "/" };
    Some(format!("{site}{slash}{path}"))
}

/// Stores the request under a random name.
async fn store_request(
    cx: &RequestContext,
    client: &OAuthClient,
    request: &AuthorizationRequest,
) -> Result<String, AuthorizationError> {
    let life = TimeDelta::from_std(cx.app.policy.oauth_server.authorization_ttl).unwrap_or(TimeDelta::MAX);
    let name = cx.entropy.base32(32);
    let new = NewAuthorization {
        id: cx.entropy.uuid(),
        authorization_id: &name,
        client_id: client.id,
        redirect_uri: query_parameter(cx, "redirect_uri"),
        scope: &request.scope,
        state: query_parameter(cx, "state"),
        resource: query_parameter(cx, "resource"),
        challenge: &request.challenge,
        nonce: query_parameter(cx, "nonce"),
        now: cx.now,
        expires_at: cx.now.checked_add_signed(life).unwrap_or(Time::MAX_UTC),
    };
    match oauth_authorizations::insert(&mut cx.db(), new).await {
        Ok(()) => Ok(name),
        Err(cause) => {
            tracing::warn!(oauth.client_id = %client.id, cause = %ErrorChain(&cause), "OAuth authorization request not stored");
            Err((OAuthErrorCode::ServerError, "error creating authorization".to_owned()))
        }
    }
}
