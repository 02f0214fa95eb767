//! Operations of the OAuth server: client authentication, registration, client secrets, redirects.

use foundation::error::{Error, ErrorKind, OAuthErrorCode, Result};
use gotrue_rules::domain::oauth_server::client_auth::{
    ClientCredentials, encode_secret, hash_secret, malformed_credentials, unknown_client,
};
use gotrue_rules::domain::oauth_server::redirect_uri::RedirectUriRules;
use gotrue_rules::domain::oauth_server::registration::{register as accept, require_web_uris};
use gotrue_rules::domain::oauth_server::{ClientType, OAuthClient, RegistrationType};
use gotrue_rules::wire::oauth_server::{TokenRequest, invalid_client_body, parse_credentials, parse_registration};
use gotrue_rules::wire::redirect::with_query;
use http::header::AUTHORIZATION;
use platform::store::OrInternalError;

use crate::request_context::RequestContext;
use crate::store::oauth_clients::{self, NewClient};

/// Authenticates the client by the header `Authorization`, else by the body.
///
/// Returns `None` if the header names no client.
///
/// # Errors
///
/// 400 `invalid_credentials`, or `invalid_client` by policy.
pub async fn authenticate_client(cx: &RequestContext) -> Result<Option<OAuthClient>> {
    verify_credentials(cx).await.map_err(|refusal| into_oauth_error(cx, OAuthErrorCode::InvalidClient, refusal))
}

/// Converts an error into an OAuth error (RFC 6749 §5.2) where the policy enables it.
///
/// Some client libraries take a body without the member `error` for tokens. An error that allows a retry is unchanged.
pub fn into_oauth_error(cx: &RequestContext, error: OAuthErrorCode, refusal: Error) -> Error {
    let is_final =
        matches!(&refusal.kind, ErrorKind::Http { status: 400..=499, .. }) && !matches!(refusal.status(), 409 | 429);
    if !is_final || !cx.app.policy.oauth_server.has_standard_responses {
        return refusal;
    }
    let description = refusal.message().to_owned().into();
    Error { kind: ErrorKind::OAuth { error: error.as_str().into(), description }, ..refusal }
}

async fn verify_credentials(cx: &RequestContext) -> Result<Option<OAuthClient>> {
    if cx.app.policy.oauth_server.is_repeated_parameter_rejected
        && let Some(twice) = TokenRequest::MEMBERS.into_iter().find(|name| cx.request.is_repeated(name))
    {
        return Err(Error::oauth(OAuthErrorCode::InvalidRequest, format!("{twice} is given more than once")));
    }
    let presented = read_credentials(cx).await?;
    if presented.client_id.is_empty() {
        return Ok(None);
    }
    let found = oauth_clients::find_by_id(&mut cx.db(), presented.parse_client_id()?).await;
    let client = found.or_internal_error("Error validating client credentials")?.ok_or_else(unknown_client)?;
    presented.verify(&client)?;
    Ok(Some(client))
}

async fn read_credentials(cx: &RequestContext) -> Result<ClientCredentials> {
    let header = cx.request.headers.get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    if let Some(credentials) = header.and_then(ClientCredentials::from_header) {
        return credentials;
    }
    if !has_json_body(cx) {
        let member = |name| cx.request.query(name).unwrap_or_default();
        return ClientCredentials::from_body(member("client_id"), member("client_secret"));
    }
    let body =
        cx.read_body().await.map_err(|cause| malformed_credentials("failed to read request body").with_cause(cause))?;
    let read =
        parse_credentials(&body).map_err(|cause| malformed_credentials("failed to parse JSON body").with_cause(cause));
    let (client_id, secret) = read?;
    ClientCredentials::from_body(&client_id, &secret)
}

/// Whether a token request has a JSON body; any other body is a form or ignored.
pub fn has_json_body(cx: &RequestContext) -> bool {
    cx.request.header("content-type").unwrap_or_default().contains("application/json")
}

/// Registers the client of the body.
///
/// Returns it with its secret if it is confidential.
///
/// # Errors
///
/// 400 `bad_json` or `validation_failed`.
pub async fn register_client(
    cx: &RequestContext,
    registered: RegistrationType,
) -> Result<(OAuthClient, Option<String>)> {
    let body = cx.read_body().await.map_err(invalid_client_body)?;
    let accepted = accept(parse_registration(&body)?, RedirectUriRules::from_policy(&cx.app.policy.oauth_server))?;
    if cx.app.policy.oauth_server.requires_web_uris {
        require_web_uris(&accepted.uri, &accepted.logo_uri)?;
    }
    let is_confidential = accepted.client_type == ClientType::Confidential;
    let (secret, secret_hash) = if is_confidential { generate_secret(cx) } else { Default::default() };
    let new = NewClient {
        id: cx.entropy.uuid(),
        secret_hash: &secret_hash,
        registration_type: registered,
        accepted: &accepted,
        now: cx.now,
    };
    let client = oauth_clients::insert(&mut cx.db(), new).await.or_internal_error("failed to create OAuth client")?;
    let client = client.ok_or_else(|| Error::internal("failed to create OAuth client"))?;
    Ok((client, is_confidential.then_some(secret)))
}

/// Generates a client secret of 256 bits. Returns it with its stored form.
pub fn generate_secret(cx: &RequestContext) -> (String, String) {
    let secret = encode_secret(cx.entropy.bytes());
    let stored = hash_secret(&secret);
    (secret, stored)
}

/// The redirect URI with these response parameters, and with the client's `state` if it sent one.
pub fn redirect_with_parameters(redirect_uri: &str, members: &[(&str, &str)], state: &str) -> Result<String> {
    let mut all = members.to_vec();
    if !state.is_empty() {
        all.push(("state", state));
    }
    with_query(redirect_uri, &all).map_err(|cause| Error::invalid("invalid redirect_uri").with_cause(cause))
}
