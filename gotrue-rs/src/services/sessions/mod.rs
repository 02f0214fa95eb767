//! Sessions and their tokens. Only this module issues tokens.

pub mod create;
pub mod elevate;
pub mod preset;
pub mod refresh;
pub mod standing;

use foundation::error::{Error, Result};
use gotrue_rules::domain::claims::{AccessClaims, build_access_claims};
use gotrue_rules::domain::oauth_server::disclosure::limit_access_claims;
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::session::{PasswordStrength, SessionJson};
use gotrue_rules::wire::user::UserJson;
use http::HeaderName;
use platform::store;
use platform::store::Connection;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::hooks;

/// The user of the issued tokens.
pub const USER_ID_HEADER: HeaderName = HeaderName::from_static("sb-auth-user-id");
/// The session of the issued tokens.
pub const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("sb-auth-session-id");
const TOKEN_COUNTER_HEADER: HeaderName = HeaderName::from_static("sb-auth-refresh-token-counter");
/// The first five characters of the refresh token.
pub const TOKEN_PREFIX_HEADER: HeaderName = HeaderName::from_static("sb-auth-refresh-token-prefix");

/// Whether an existing token was returned again; only ever `false`.
pub const REUSE_HEADER: HeaderName = HeaderName::from_static("sb-auth-refresh-token-reuse");
/// Why an existing token was returned again.
pub const REUSE_CAUSE_HEADER: HeaderName = HeaderName::from_static("sb-auth-refresh-token-reuse-cause");
/// The session was ended because a rotated token was presented.
pub const ROTATED_HEADER: HeaderName = HeaderName::from_static("sb-auth-refresh-token-rotated");

/// The issued tokens of a session.
#[derive(Debug)]
pub struct IssuedTokens {
    /// The signed access token.
    pub access_token: String,
    /// The expiry of the access token, in seconds since the epoch.
    pub expires_at: i64,
    /// The lifetime of the access token, in seconds.
    pub expires_in: i64,
    pub refresh_token: RefreshToken,
    /// The user as the response shows it.
    pub user: User,
    pub session: Session,
}

/// A refresh token in its text form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshToken {
    pub text: String,
    /// The counter of a token of version 2.
    pub counter: Option<i64>,
}

/// Members of the response that only some grants have.
#[derive(Debug, Default)]
pub struct SessionExtras<'a> {
    /// The provider's access token.
    pub provider_token: Option<&'a str>,
    /// The provider's refresh token.
    pub provider_refresh_token: Option<&'a str>,
    /// The weak password warning of the password grant.
    pub weak_password: PasswordStrength<'a>,
}

/// The subject of tokens to issue.
#[derive(Debug)]
pub struct TokenSubject {
    /// The user as the response shows it.
    pub user: User,
    pub session: Session,
    /// Its next refresh token.
    pub refresh_token: RefreshToken,
}

/// Begins a transaction that issues tokens.
///
/// If it calls an HTTP hook for their claims, it counts as one of the limited waiting transactions.
pub async fn begin_token_transaction(cx: &RequestContext) -> store::Result<Connection> {
    if cx.app.hooks.is_http(HookKind::CustomAccessToken) { cx.begin_external_wait().await } else { cx.begin().await }
}

/// Issues an access token for user and session.
///
/// `method` is the authentication method for the access token hook. A database function runs in the transaction of
/// `db`.
pub async fn issue_tokens(
    cx: &RequestContext,
    db: &mut Connection,
    subject: TokenSubject,
    method: &str,
) -> Result<IssuedTokens> {
    let claims = build_claims(cx, db, &subject.user, &subject.session, method).await?;
    sign_access_token(cx, claims, subject)
}

/// The claims of an access token after the access token hook. The expiry is the one before the hook.
async fn build_claims(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    session: &Session,
    method: &str,
) -> Result<AccessClaims> {
    cx.record_user(user.id);
    let AccessClaims { claims, expires_at } = build_access_claims(&cx.app.policy, user, session, cx.now);
    let mut claims = hooks::customize_claims(cx, db, user.id, method, claims).await?;
    // After the hook, which must return the claims that its schema requires.
    if cx.app.policy.oauth_server.are_claims_limited_by_scopes {
        limit_access_claims(&mut claims, user, session);
    }
    Ok(AccessClaims { claims, expires_at })
}

/// The headers of a session: its user, its id, and the refresh token's prefix or counter.
fn token_headers(session: &Session, refresh_token: &RefreshToken) -> [(HeaderName, String); 3] {
    let token = match refresh_token.counter {
        Some(counter) => (TOKEN_COUNTER_HEADER, counter.to_string()),
        None => (TOKEN_PREFIX_HEADER, refresh_token.text.get(..5).unwrap_or_default().to_owned()),
    };
    [(USER_ID_HEADER, session.user_id.to_string()), (SESSION_ID_HEADER, session.id.to_string()), token]
}

/// Adds the token headers to the response, whatever it will be.
fn insert_token_headers(cx: &RequestContext, session: &Session, refresh_token: &RefreshToken) {
    for (name, value) in token_headers(session, refresh_token) {
        cx.insert_response_header(name, &value);
    }
}

fn sign_access_token(cx: &RequestContext, claims: AccessClaims, subject: TokenSubject) -> Result<IssuedTokens> {
    let AccessClaims { claims, expires_at } = claims;
    let TokenSubject { user, session, refresh_token } = subject;
    cx.app.hooks.record_signed_token();
    let signed = cx.app.keys.sign(&claims);
    let access_token = signed.map_err(|cause| Error::internal("error generating jwt token").with_cause(cause))?;
    let expires_in = expires_at - cx.now.timestamp();
    Ok(IssuedTokens { access_token, expires_at, expires_in, refresh_token, user, session })
}

impl IssuedTokens {
    /// The response with the session as JSON and the token headers.
    pub fn reply(&self, extras: SessionExtras<'_>) -> Reply {
        self.with_token_headers(Reply::json(&self.body(extras)))
    }

    /// The session as JSON.
    pub fn body<'a>(&'a self, extras: SessionExtras<'a>) -> SessionJson<'a> {
        SessionJson {
            access_token: &self.access_token,
            token_type: "bearer",
            expires_in: self.expires_in,
            expires_at: self.expires_at,
            refresh_token: &self.refresh_token.text,
            user: UserJson::from(&self.user),
            provider_token: extras.provider_token,
            provider_refresh_token: extras.provider_refresh_token,
            weak_password: extras.weak_password,
        }
    }

    /// Adds the token headers to a response that is not the session itself.
    pub fn insert_response_headers(&self, cx: &RequestContext) {
        insert_token_headers(cx, &self.session, &self.refresh_token);
    }

    /// Adds `sb-auth-user-id`, `sb-auth-session-id` and the refresh token's prefix or counter to a reply.
    pub fn with_token_headers(&self, reply: Reply) -> Reply {
        let headers = token_headers(&self.session, &self.refresh_token);
        headers.into_iter().fold(reply, |reply, (name, value)| reply.with_header(name, &value))
    }
}
