//! Exchanges an authorization code for tokens (RFC 6749 §4.1.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gotrue_rules::domain::error::chain::ErrorChain;
use gotrue_rules::domain::external::provider::{ClientAuth, ProviderTokenResponse};
use gotrue_rules::domain::external::token_response;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Request};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::ResolvedProvider;
use super::provider_request::{ProviderError, insert_header, send_provider_request};
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
    let (id, secret) = (ready.client_id(), ready.enabled.settings.secret.reveal());
    let mut form = vec![("grant_type", "authorization_code"), ("code", code)];
    form.push(("redirect_uri", &ready.enabled.settings.redirect_uri));
    form.extend(verifier.map(|verifier| ("code_verifier", verifier)));
    form.retain(|(_, value)| !value.is_empty());
    match ready.config.client_auth {
        ClientAuth::Form => {}
        ClientAuth::BasicThenForm | ClientAuth::BasicAndForm => {
            if ready.config.client_auth == ClientAuth::BasicAndForm {
                form.extend([("client_id", id), ("secret", secret)]);
            }
            match post_token_request(cx, ready, &form, Some(&basic_credentials(id, secret))).await {
                Err(error) => tracing::debug!(
                    request.id = cx.request.id,
                    cause = %ErrorChain(&error),
                    "token request with a header failed, retrying with a form"
                ),
                answer => return answer,
            }
            form.retain(|(name, _)| *name != "client_id");
        }
    }
    form.extend([("client_id", id), ("client_secret", secret)]);
    post_token_request(cx, ready, &form, None).await
}

async fn post_token_request(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    form: &[(&str, &str)],
    authorization: Option<&str>,
) -> Result<ProviderTokenResponse, ProviderError> {
    let mut request = Request::new(Method::POST, Url::parse(ready.token_endpoint())?);
    insert_header(&mut request, "content-type", "application/x-www-form-urlencoded")?;
    if let Some(authorization) = authorization {
        insert_header(&mut request, "authorization", authorization)?;
    }
    *request.body_mut() = Some(Serializer::new(String::new()).extend_pairs(form).finish().into());
    let answer = send_provider_request(cx, &ready.enabled, "provider.token", request).await?;
    let kind = answer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    Ok(token_response::parse(answer.status, kind, &answer.body)?)
}

/// Formats HTTP Basic credentials; id and secret are form-encoded first (RFC 6749 §2.3.1).
fn basic_credentials(id: &str, secret: &str) -> String {
    let escaped = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", escaped(id), escaped(secret))))
}
