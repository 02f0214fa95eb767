//! The steps of OAuth 1.0a (RFC 5849): a token to ask with, the browser's leave, a token to read with.

use gotrue_rules::domain::external::oauth1::{Signature, Token, authorization, read_token};
use reqwest::{Method, Request};
use url::Url;

use super::Ready;
use super::ask::{Trouble, ask, put, require_success};
use crate::cx::Cx;
use crate::ports::http_client::Answer;

/// The token that a browser takes along; it comes back to that address.
pub(super) async fn request_token(cx: &Cx, ready: &Ready, url: &str, callback: &str) -> Result<Token, Trouble> {
    token(cx, ready, url, &[("oauth_callback", callback)]).await
}

/// The token that tells of a person, for the one that came back with a browser.
pub(super) async fn access_token(
    cx: &Cx,
    ready: &Ready,
    url: &str,
    (token_back, verifier): (&str, &str),
) -> Result<Token, Trouble> {
    let own = [("oauth_token", token_back), ("oauth_verifier", verifier)];
    let most = if verifier.is_empty() { 1 } else { 2 };
    token(cx, ready, url, &own[..most]).await
}

/// GET of an address with a token.
pub(super) async fn get(cx: &Cx, ready: &Ready, request: Request, by: &Token) -> Result<Answer, Trouble> {
    signed(cx, ready, request, (&[("oauth_token", &by.token)], &by.secret), "provider.person").await
}

async fn token(cx: &Cx, ready: &Ready, url: &str, own: &[(&str, &str)]) -> Result<Token, Trouble> {
    let request = Request::new(Method::GET, Url::parse(url)?);
    let answer = signed(cx, ready, request, (own, ""), "provider.token").await?;
    require_success(&answer)?;
    Ok(read_token(&answer.body)?)
}

async fn signed(
    cx: &Cx,
    ready: &Ready,
    mut request: Request,
    (own, token_secret): (&[(&str, &str)], &str),
    what: &'static str,
) -> Result<Answer, Trouble> {
    let by = Signature {
        key: ready.client_id(),
        secret: ready.usable.settings.secret.reveal(),
        token_secret,
        nonce: &cx.entropy.base32(24),
        timestamp: cx.app.clock.now().timestamp(),
    };
    let header = authorization(request.method().as_str(), request.url(), own, &by);
    put(&mut request, "authorization", &header)?;
    ask(cx, ready.usable.trust, what, request).await
}
