//! A code for tokens (RFC 6749 §4.1.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gotrue_rules::domain::external::provider::{ClientAuth, TokenAnswer};
use gotrue_rules::domain::external::token_answer;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Request};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::Ready;
use super::ask::{Trouble, ask, put};
use crate::cx::Cx;

/// What a provider gives for a code. Where it is shown our secret in a header, it is shown it in the form after any
/// failure: many know only one of the two.
pub(super) async fn exchange(
    cx: &Cx,
    ready: &Ready,
    code: &str,
    verifier: Option<&str>,
) -> Result<TokenAnswer, Trouble> {
    let (id, secret) = (ready.client_id(), ready.usable.settings.secret.reveal());
    let mut form = vec![("grant_type", "authorization_code"), ("code", code)];
    form.push(("redirect_uri", &ready.usable.settings.redirect_uri));
    form.extend(verifier.map(|verifier| ("code_verifier", verifier)));
    form.retain(|(_, value)| !value.is_empty());
    match ready.place.client_auth {
        ClientAuth::Form => {}
        ClientAuth::BasicThenForm | ClientAuth::BasicAndForm => {
            if ready.place.client_auth == ClientAuth::BasicAndForm {
                form.extend([("client_id", id), ("secret", secret)]);
            }
            match post(cx, ready, &form, Some(&basic(id, secret))).await {
                Err(trouble) => tracing::debug!(request.id = cx.request.id, "once more without a header: {trouble}"),
                answer => return answer,
            }
            form.retain(|(name, _)| *name != "client_id");
        }
    }
    form.extend([("client_id", id), ("client_secret", secret)]);
    post(cx, ready, &form, None).await
}

async fn post(
    cx: &Cx,
    ready: &Ready,
    form: &[(&str, &str)],
    authorization: Option<&str>,
) -> Result<TokenAnswer, Trouble> {
    let mut request = Request::new(Method::POST, Url::parse(ready.token_endpoint())?);
    put(&mut request, "content-type", "application/x-www-form-urlencoded")?;
    if let Some(authorization) = authorization {
        put(&mut request, "authorization", authorization)?;
    }
    *request.body_mut() = Some(Serializer::new(String::new()).extend_pairs(form).finish().into());
    let answer = ask(cx, ready.usable.trust, "provider.token", request).await?;
    let kind = answer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    Ok(token_answer::read(answer.status, kind, &answer.body)?)
}

/// Both are escaped before they are joined (RFC 6749 §2.3.1).
fn basic(id: &str, secret: &str) -> String {
    let escaped = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", escaped(id), escaped(secret))))
}
