//! Exchanges an authorization code for tokens (RFC 6749 §4.1.3), through the server's HTTP client.

use foundation::error_chain::ErrorChain;
use futures::future::BoxFuture;
use gotrue_rules::domain::external::provider::{ClientAuth, ProviderTokenResponse};
use gotrue_rules::domain::external::token_request::ProviderTokenRequest;
use gotrue_rules::domain::external::token_response::{flatten_error, normalize};
use oauth2::{AsyncHttpClient, AuthType, HttpRequest, HttpResponse, TokenUrl};
use platform::http_client::HttpError;
use reqwest::Request;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};

use super::provider::ResolvedProvider;
use super::provider_request::{ProviderError, send_provider_request};
use crate::request_context::RequestContext;

/// Exchanges a code for the provider's tokens.
///
/// If the client secret is sent in a header and that fails, it is sent in the form: many providers support only one of
/// the two.
pub(super) async fn exchange_code(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    code: &str,
    verifier: Option<&str>,
) -> Result<ProviderTokenResponse, ProviderError> {
    let grant = ProviderTokenRequest {
        client_id: ready.client_id(),
        secret: &ready.enabled.settings.secret,
        client_auth: ready.config.client_auth,
        redirect_uri: &ready.enabled.settings.redirect_uri,
        code,
        code_verifier: verifier,
    };
    match grant.client_auth {
        ClientAuth::Form => {}
        ClientAuth::BasicThenForm | ClientAuth::BasicAndForm => {
            match request_tokens(cx, ready, &grant, AuthType::BasicAuth).await {
                Err(error) => tracing::debug!(
                    request.id = cx.request.id,
                    cause = %ErrorChain(&error),
                    "token request with a header failed, retrying with a form"
                ),
                answer => return answer,
            }
        }
    }
    request_tokens(cx, ready, &grant, AuthType::RequestBody).await
}

async fn request_tokens(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    grant: &ProviderTokenRequest<'_>,
    auth_type: AuthType,
) -> Result<ProviderTokenResponse, ProviderError> {
    let client = grant.build_client(TokenUrl::new(ready.token_endpoint().to_owned())?, auth_type);
    let http = ProviderHttpClient { cx, ready };
    let answer = grant.build(&client).request_async(&http).await.map_err(flatten_error)?;
    Ok(answer.into_tokens()?)
}

/// The server's HTTP client for the crate `oauth2`.
///
/// A closure would do, but a handler that awaits its future is not `Send` for every lifetime.
struct ProviderHttpClient<'a> {
    cx: &'a RequestContext,
    ready: &'a ResolvedProvider,
}

impl<'c> AsyncHttpClient<'c> for ProviderHttpClient<'_> {
    type Error = ProviderError;
    type Future = BoxFuture<'c, Result<HttpResponse, ProviderError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(send_token_request(self.cx, self.ready, request))
    }
}

/// Sends a request of the crate `oauth2` and normalises the response for its parser.
async fn send_token_request(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    mut request: HttpRequest,
) -> Result<HttpResponse, ProviderError> {
    // The reference requests no format, which selects forms at some providers.
    request.headers_mut().remove(ACCEPT);
    if let Some(credentials) = request.headers_mut().get_mut(AUTHORIZATION) {
        credentials.set_sensitive(true);
    }
    let request = Request::try_from(request).map_err(HttpError::from)?;
    let answer = send_provider_request(cx, &ready.enabled, "provider.token", request).await?;
    let kind = answer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    Ok(normalize(answer.status, kind, &answer.body)?)
}
