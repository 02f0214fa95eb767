//! Sessions: the only place that mints tokens.

pub mod elevate;
pub mod open;
pub mod refresh;

use gotrue_rules::domain::claims::{AccessClaims, access_token};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::session::{SessionJson, WeakPasswordJson};
use gotrue_rules::wire::user::UserJson;
use http::HeaderName;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::hooks;
use crate::store::{self, Connection};

/// Whose tokens an answer tells of.
pub const USER_ID: HeaderName = HeaderName::from_static("sb-auth-user-id");
/// Which session's tokens an answer tells of.
pub const SESSION_ID: HeaderName = HeaderName::from_static("sb-auth-session-id");
const COUNTER: HeaderName = HeaderName::from_static("sb-auth-refresh-token-counter");
/// The first five characters of the refresh token.
pub const PREFIX: HeaderName = HeaderName::from_static("sb-auth-refresh-token-prefix");

/// Whether an existing token was handed out again; only ever `false`.
pub const REUSE: HeaderName = HeaderName::from_static("sb-auth-refresh-token-reuse");
/// Why it was.
pub const REUSE_CAUSE: HeaderName = HeaderName::from_static("sb-auth-refresh-token-reuse-cause");
/// The session was ended because an old token came back.
pub const ROTATED: HeaderName = HeaderName::from_static("sb-auth-refresh-token-rotated");

/// The tokens of a session, and what they are for.
#[derive(Debug)]
pub struct Minted {
    /// The signed access token.
    pub access_token: String,
    /// When it expires, seconds since the epoch.
    pub expires_at: i64,
    /// How long that is from now, seconds.
    pub expires_in: i64,
    /// The refresh token.
    pub refresh_token: RefreshToken,
    /// The account as the answer shows it.
    pub account: Account,
    /// The session.
    pub session: Session,
}

/// A refresh token in the form in which it is handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshToken {
    /// The text.
    pub text: String,
    /// Its counter, if it is of version 2.
    pub counter: Option<i64>,
}

/// Extras that only some grants answer.
#[derive(Debug, Default)]
pub struct Extras<'a> {
    /// The provider's access token.
    pub provider_token: Option<&'a str>,
    /// The provider's refresh token.
    pub provider_refresh_token: Option<&'a str>,
    /// Only the password grant has this member, and it always.
    pub weak_password: Option<Option<WeakPasswordJson<'a>>>,
}

/// What tokens are minted for.
#[derive(Debug)]
pub struct Fresh {
    /// The account as the answer shows it.
    pub account: Account,
    /// The session.
    pub session: Session,
    /// Its next refresh token.
    pub refresh_token: RefreshToken,
}

/// A transaction that will mint tokens. Where a hook outside must be asked for their claims it is one of few, so that
/// others find a connection meanwhile.
pub async fn begin(cx: &Cx) -> store::Result<Connection> {
    if cx.app.hooks.is_http(HookKind::CustomAccessToken) { cx.begin_to_wait().await } else { cx.begin().await }
}

/// Signs an access token for account and session. `method` is what the token hook is told; a hook that is a function of
/// the database runs in the transaction that `db` is.
pub async fn mint(cx: &Cx, db: &mut Connection, fresh: Fresh, method: &str) -> Result<Minted> {
    let claims = claims(cx, db, (&fresh.account, &fresh.session), method).await?;
    sign(cx, claims, fresh)
}

/// The claims of an access token, as the token hook wants them. When the token ends is told by what they were before.
async fn claims(
    cx: &Cx,
    db: &mut Connection,
    (account, session): (&Account, &Session),
    method: &str,
) -> Result<AccessClaims> {
    let AccessClaims { claims, expires_at } = access_token(&cx.app.policy, account, session, cx.now);
    let claims = hooks::custom_access_token(cx, db, account.id, method, claims).await?;
    Ok(AccessClaims { claims, expires_at })
}

fn sign(cx: &Cx, claims: AccessClaims, fresh: Fresh) -> Result<Minted> {
    let AccessClaims { claims, expires_at } = claims;
    let Fresh { account, session, refresh_token } = fresh;
    cx.app.hooks.note_signed();
    let signed = cx.app.keys.sign(&claims);
    let access_token = signed.map_err(|cause| Error::internal("error generating jwt token").because(cause))?;
    let expires_in = expires_at - cx.now.timestamp();
    Ok(Minted { access_token, expires_at, expires_in, refresh_token, account, session })
}

impl Minted {
    /// The session as JSON, with the headers that tell of issued tokens.
    pub fn reply(&self, extras: Extras<'_>) -> Reply {
        self.mark(Reply::json(&self.body(extras)))
    }

    /// The session as JSON.
    pub fn body<'a>(&'a self, extras: Extras<'a>) -> SessionJson<'a> {
        SessionJson {
            access_token: &self.access_token,
            token_type: "bearer",
            expires_in: self.expires_in,
            expires_at: self.expires_at,
            refresh_token: &self.refresh_token.text,
            user: UserJson::from(&self.account),
            provider_token: extras.provider_token,
            provider_refresh_token: extras.provider_refresh_token,
            weak_password: extras.weak_password,
        }
    }

    /// Puts the same headers on an answer that is not the session itself.
    pub fn mark_answer(&self, cx: &Cx) {
        cx.mark(USER_ID, &self.account.id.to_string());
        cx.mark(SESSION_ID, &self.session.id.to_string());
        match self.refresh_token.counter {
            Some(counter) => cx.mark(COUNTER, &counter.to_string()),
            None => cx.mark(PREFIX, self.refresh_token.text.get(..5).unwrap_or_default()),
        }
    }

    /// The reply with `sb-auth-user-id`, `sb-auth-session-id` and the refresh token's prefix or counter.
    pub fn mark(&self, reply: Reply) -> Reply {
        let reply = reply
            .with_header(USER_ID, &self.account.id.to_string())
            .with_header(SESSION_ID, &self.session.id.to_string());
        if let Some(counter) = self.refresh_token.counter {
            return reply.with_header(COUNTER, &counter.to_string());
        }
        reply.with_header(PREFIX, self.refresh_token.text.get(..5).unwrap_or_default())
    }
}
