//! The steps of OAuth 1.0a (RFC 5849): request token, authorization by the user, access token.

use gotrue_rules::domain::external::oauth1::{OAuth1SigningParams, OAuth1Token, authorization_header, parse_token};
use platform::http_client::HttpResponse;
use reqwest::{Method, Request};
use url::Url;

use super::provider::ResolvedProvider;
use super::provider_request::{ProviderError, insert_header, require_success, send_provider_request};
use crate::request_context::RequestContext;

/// Fetches the temporary credentials that the browser takes along, for this callback URL.
pub(super) async fn fetch_request_token(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    url: &str,
    callback: &str,
) -> Result<OAuth1Token, ProviderError> {
    fetch_token(cx, ready, url, &[("oauth_callback", callback)]).await
}

/// The request token that the provider returned with the browser.
pub(super) struct AuthorizedRequestToken<'a> {
    /// `oauth_token` of the callback.
    pub token: &'a str,
    /// `oauth_verifier` of the callback; empty if there is none.
    pub verifier: &'a str,
}

/// The parameters of a signed request that depend on its token.
struct SigningToken<'a> {
    /// Parameters in the `Authorization` header besides those of every request.
    parameters: &'a [(&'a str, &'a str)],
    /// The secret of the token; empty without one.
    secret: &'a str,
}

/// Exchanges the authorized request token for an access token.
pub(super) async fn fetch_access_token(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    url: &str,
    authorized: AuthorizedRequestToken<'_>,
) -> Result<OAuth1Token, ProviderError> {
    let own = [("oauth_token", authorized.token), ("oauth_verifier", authorized.verifier)];
    let most = if authorized.verifier.is_empty() { 1 } else { 2 };
    fetch_token(cx, ready, url, &own[..most]).await
}

/// Sends a GET request that is signed with a token.
pub(super) async fn get_signed(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    request: Request,
    token: &OAuth1Token,
) -> Result<HttpResponse, ProviderError> {
    let signing = SigningToken { parameters: &[("oauth_token", &token.token)], secret: &token.secret };
    send_signed(cx, ready, request, signing, "provider.person").await
}

async fn fetch_token(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    url: &str,
    own: &[(&str, &str)],
) -> Result<OAuth1Token, ProviderError> {
    let request = Request::new(Method::GET, Url::parse(url)?);
    let signing = SigningToken { parameters: own, secret: "" };
    let answer = send_signed(cx, ready, request, signing, "provider.token").await?;
    require_success(&answer)?;
    Ok(parse_token(&answer.body)?)
}

async fn send_signed(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    mut request: Request,
    token: SigningToken<'_>,
    what: &'static str,
) -> Result<HttpResponse, ProviderError> {
    let signature = OAuth1SigningParams {
        consumer_key: ready.client_id(),
        secret: ready.enabled.settings.secret.reveal(),
        token_secret: token.secret,
        nonce: &cx.entropy.base32(24),
        timestamp: cx.app.clock.now().timestamp(),
    };
    let header = authorization_header(request.method().as_str(), request.url(), token.parameters, &signature);
    insert_header(&mut request, "authorization", &header)?;
    send_provider_request(cx, &ready.enabled, what, request).await
}
