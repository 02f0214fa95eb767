//! Checks before handlers, named in the route table. What they find goes into the [`Cx`].

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::mfa::factor_not_found;
use gotrue_rules::domain::oauth_server::client::not_found as client_not_found;
use gotrue_rules::domain::oauth_server::confinement;
use gotrue_rules::domain::session_rules::Validity;
use gotrue_rules::domain::sso;
use gotrue_rules::wire::requests::Captcha;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::cx::{Admin, Caller, Cx};
use crate::http::router::Guard;
use crate::journal::Step;
use crate::services::limits::{self, Limited};
use crate::services::sessions::refresh::facts;
use crate::services::{oauth_server, saml};
use crate::store::{OrRefuse, oauth_clients, sso_providers, users};

/// Only signed-in accounts: header 401 → signature and time 403 → `sub` → account → session → ban.
pub const CALLER: Guard = Guard { name: "Caller", run: |cx| Box::pin(caller(cx)) };

/// Only administrators: header 401 → signature 403 → a session named must be valid → role 403.
pub const ADMIN: Guard = Guard { name: "Admin", run: |cx| Box::pin(admin(cx)) };

/// Only paths whose `{user_id}` names an account: its form 404, its existence 404. Comes after [`ADMIN`].
pub const ACCOUNT: Guard = Guard { name: "Account", run: |cx| Box::pin(account(cx)) };

/// Only paths whose `{factor_id}` names a factor of the account that an administrator's path names, else of the
/// caller: its form 404, its existence 404. Comes after [`ACCOUNT`] or [`CALLER`].
pub const FACTOR: Guard = Guard { name: "Factor", run: |cx| Box::pin(async { factor(cx) }) };

/// Not for anonymous accounts: 403. Comes after [`CALLER`].
pub const NOT_ANONYMOUS: Guard = Guard { name: "NotAnonymous", run: |cx| Box::pin(async { not_anonymous(cx) }) };

/// One request of `/verify` more, by either method.
pub const LIMIT_VERIFY: Guard =
    Guard { name: "Limit(Verify)", run: |cx| Box::pin(async { limits::take(cx, Limited::Verify) }) };

/// One change of an account more.
pub const LIMIT_USER: Guard =
    Guard { name: "Limit(User)", run: |cx| Box::pin(async { limits::take(cx, Limited::User) }) };

/// One recovery more.
pub const LIMIT_RECOVER: Guard =
    Guard { name: "Limit(Recover)", run: |cx| Box::pin(async { limits::take(cx, Limited::Recover) }) };

/// One code to sign in more.
pub const LIMIT_OTP: Guard = Guard { name: "Limit(Otp)", run: |cx| Box::pin(async { limits::take(cx, Limited::Otp) }) };

/// One mailed link to sign in more.
pub const LIMIT_MAGIC_LINK: Guard =
    Guard { name: "Limit(MagicLink)", run: |cx| Box::pin(async { limits::take(cx, Limited::MagicLink) }) };

/// One message sent again more.
pub const LIMIT_RESEND: Guard =
    Guard { name: "Limit(Resend)", run: |cx| Box::pin(async { limits::take(cx, Limited::Resend) }) };

/// One sign-in by passkey more.
pub const LIMIT_PASSKEY: Guard =
    Guard { name: "Limit(Passkey)", run: |cx| Box::pin(async { limits::take(cx, Limited::Passkey) }) };

/// Only who has solved a captcha, where one is asked for: an administrator passes, and who comes to `/token` with
/// a proof of another kind → body 400 → token 400 → the provider's word 400, 500 without one.
pub const CAPTCHA: Guard = Guard { name: "Captcha", run: |cx| Box::pin(captcha(cx)) };

/// One challenge of a factor more.
pub const LIMIT_CHALLENGE: Guard =
    Guard { name: "Limit(Challenge)", run: |cx| Box::pin(async { limits::take(cx, Limited::FactorChallenge) }) };

/// One verification of a factor more.
pub const LIMIT_FACTOR_VERIFY: Guard =
    Guard { name: "Limit(FactorVerify)", run: |cx| Box::pin(async { limits::take(cx, Limited::FactorVerify) }) };

/// One sign-in through a company's identity provider more.
pub const LIMIT_SSO: Guard = Guard { name: "Limit(Sso)", run: |cx| Box::pin(async { limits::take(cx, Limited::Sso) }) };

/// One response of an identity provider more.
pub const LIMIT_SAML: Guard =
    Guard { name: "Limit(Saml)", run: |cx| Box::pin(async { limits::take(cx, Limited::SamlAssertion) }) };

/// Only while SAML is on: 404.
pub const SAML: Guard = Guard { name: "Saml", run: |cx| Box::pin(async { saml::ourselves(cx).map(|_| ()) }) };

/// Only paths whose `{idp_id}` names a company's identity provider: 404. Comes after [`ADMIN`].
pub const SSO_PROVIDER: Guard = Guard { name: "SsoProvider", run: |cx| Box::pin(sso_provider(cx)) };

/// Only while passkeys are on: 404.
pub const PASSKEYS: Guard = Guard { name: "Passkeys", run: |cx| Box::pin(async { passkeys(cx) }) };

/// Only while the OAuth server is on: 404.
pub const OAUTH_SERVER: Guard = Guard { name: "OAuthServer", run: |cx| Box::pin(async { oauth_server(cx) }) };

/// Only while accounts may be linked by hand: 404.
pub const MANUAL_LINKING: Guard = Guard { name: "ManualLinking", run: |cx| Box::pin(async { manual_linking(cx) }) };

fn manual_linking(cx: &Cx) -> Result<()> {
    if cx.app.policy.security.manual_linking_enabled {
        return Ok(());
    }
    Err(Error::not_found("manual_linking_disabled", "Manual linking is disabled"))
}

/// Only while providers may be stored at run time: 404.
pub const CUSTOM_PROVIDERS: Guard =
    Guard { name: "CustomProviders", run: |cx| Box::pin(async { custom_providers(cx) }) };

fn custom_providers(cx: &Cx) -> Result<()> {
    if cx.app.policy.custom_oauth.enabled {
        return Ok(());
    }
    Err(Error::not_found("feature_disabled", "Custom OAuth providers are disabled"))
}

/// Only while SCIM is on: 404.
pub const SCIM: Guard = Guard { name: "Scim", run: |cx| Box::pin(async { scim(cx) }) };

fn scim(cx: &Cx) -> Result<()> {
    if cx.app.policy.experimental.scim_enabled {
        return Ok(());
    }
    Err(Error::not_found("feature_disabled", "SCIM server is disabled"))
}

/// Only paths whose `{client_id}` names an OAuth client: its form 400, its existence 404. Comes after [`ADMIN`].
pub const OAUTH_APP: Guard = Guard { name: "OAuthApp", run: |cx| Box::pin(oauth_app(cx)) };

/// Only clients that prove themselves: 400. One that names no client in a header for it passes, and is nobody.
pub const CLIENT: Guard = Guard { name: "Client", run: |cx| Box::pin(client(cx)) };

/// One client more that registers itself.
pub const LIMIT_REGISTER: Guard =
    Guard { name: "Limit(Register)", run: |cx| Box::pin(async { limits::take(cx, Limited::OAuthClientRegister) }) };

fn passkeys(cx: &Cx) -> Result<()> {
    if cx.app.policy.passkeys.enabled {
        return Ok(());
    }
    Err(Error::not_found("passkey_disabled", "Passkeys are disabled"))
}

fn oauth_server(cx: &Cx) -> Result<()> {
    if cx.app.policy.oauth_server.enabled {
        return Ok(());
    }
    Err(Error::not_found("feature_disabled", "OAuth server is disabled"))
}

async fn caller(cx: &mut Cx) -> Result<()> {
    let claims = verified_claims(cx)?;
    let found = account_of(cx, claims).await?;
    if found.account.is_banned(cx.now) {
        return Err(Error::forbidden("user_banned", "User is banned"));
    }
    // A token without a session is an ID token: it tells a client who somebody is, and opens nothing.
    let opens = || found.session.is_some() && confinement::opens(cx.request.method.as_str(), &cx.request.path);
    if is_confined(cx, &found) && !opens() {
        return Err(confinement::refused());
    }
    cx.found.caller = Some(found);
    Ok(())
}

/// Whether it is a client's token that opens little.
fn is_confined(cx: &Cx, caller: &Caller) -> bool {
    cx.app.policy.oauth_server.clients_confined && caller.is_a_clients()
}

async fn admin(cx: &mut Cx) -> Result<()> {
    cx.found.admin = Some(administrator(cx, verified_claims(cx)?).await?);
    Ok(())
}

async fn administrator(cx: &Cx, claims: Map<String, Value>) -> Result<Admin> {
    if session_id(&claims)?.is_some() {
        let found = account_of(cx, claims.clone()).await?;
        let validity = found.session.as_ref().map(|session| facts(cx, &found.account, session, None).validity());
        if validity != Some(Validity::Valid) {
            return Err(Error::forbidden("session_expired", "Session is no longer valid"));
        }
        if is_confined(cx, &found) {
            return Err(Error::forbidden("not_admin", "User not allowed"));
        }
    }
    if !cx.is_admins(&claims) {
        return Err(Error::forbidden("not_admin", "User not allowed"));
    }
    let role = claims.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Admin { role, claims })
}

async fn captcha(cx: &Cx) -> Result<()> {
    let Some(verifier) = &cx.app.captcha else { return Ok(()) };
    if brings_a_proof(cx) || is_by_administrator(cx).await {
        return Ok(());
    }
    let token = Captcha::decode(&cx.bytes().await?)?.token;
    if token.is_empty() {
        return Err(unsolved("no captcha_token found"));
    }
    cx.journal.note(Step::Call("captcha.verify"));
    let verdict = verifier.verify(&token, cx.client_ip()).await;
    let verdict = verdict.map_err(|cause| Error::internal("captcha verification process failed").because(cause))?;
    if verdict.solved { Ok(()) } else { Err(unsolved(&verdict.reasons.join(", "))) }
}

fn unsolved(reason: &str) -> Error {
    Error::bad_request("captcha_failed", format!("captcha protection: request disallowed ({reason})"))
}

/// Whether what it brings is the proof: a refresh token, a flow's code, a provider's token.
fn brings_a_proof(cx: &Cx) -> bool {
    let grant = cx.request.query("grant_type").unwrap_or_default();
    cx.request.path == "/token" && matches!(grant, "pkce" | "refresh_token" | "id_token")
}

async fn is_by_administrator(cx: &Cx) -> bool {
    match verified_claims(cx) {
        Ok(claims) if cx.is_admins(&claims) => administrator(cx, claims).await.is_ok(),
        _ => false,
    }
}

async fn account(cx: &mut Cx) -> Result<()> {
    let named = cx.request.param("user_id").unwrap_or_default();
    let id = Uuid::parse_str(named).map_err(|_| Error::not_found("validation_failed", "user_id must be an UUID"))?;
    let found = users::with_session(&mut cx.db(), id, None).await.or_refuse("Database error loading user")?;
    let found = found.ok_or_else(|| Error::not_found("user_not_found", "User not found"))?;
    cx.found.account = Some(found.account);
    Ok(())
}

async fn sso_provider(cx: &mut Cx) -> Result<()> {
    let named = cx.request.param("idp_id").and_then(sso::Name::read).ok_or_else(sso::not_found)?;
    let found = match named {
        sso::Name::Id(id) => sso_providers::by_id(&mut cx.db(), id).await,
        sso::Name::ResourceId(id) => sso_providers::by_resource_id(&mut cx.db(), &id).await,
    };
    let found = found.or_refuse("Database error finding SSO Identity Provider")?;
    cx.found.sso_provider = Some(found.ok_or_else(sso::not_found)?);
    Ok(())
}

async fn oauth_app(cx: &mut Cx) -> Result<()> {
    let named = cx.request.param("client_id").unwrap_or_default();
    let id = Uuid::parse_str(named).map_err(|_| Error::invalid("invalid client_id format"))?;
    let found = oauth_clients::by_id(&mut cx.db(), id).await.or_refuse("Error loading OAuth client")?;
    cx.found.client = Some(found.ok_or_else(client_not_found)?);
    Ok(())
}

async fn client(cx: &mut Cx) -> Result<()> {
    cx.found.client = oauth_server::authenticate(cx).await?;
    Ok(())
}

/// Reads nothing: an account is read with its factors.
fn factor(cx: &mut Cx) -> Result<()> {
    let named = cx.request.param("factor_id").unwrap_or_default();
    let id = Uuid::parse_str(named).map_err(|_| Error::not_found("validation_failed", "factor_id must be an UUID"))?;
    let account = match &cx.found.account {
        Some(account) => account,
        None => &cx.caller()?.account,
    };
    let found = account.factors.iter().find(|factor| factor.id == id).cloned();
    cx.found.factor = Some(found.ok_or_else(factor_not_found)?);
    Ok(())
}

fn not_anonymous(cx: &Cx) -> Result<()> {
    let is_anonymous = cx.caller()?.claims.get("is_anonymous").and_then(Value::as_bool).unwrap_or(false);
    if is_anonymous {
        return Err(Error::forbidden("no_authorization", "Anonymous user not allowed to perform these actions"));
    }
    Ok(())
}

fn verified_claims(cx: &Cx) -> Result<Map<String, Value>> {
    let header = cx.request.header("authorization");
    let token = header
        .and_then(bearer)
        .ok_or_else(|| Error::unauthorized("no_authorization", "This endpoint requires a valid Bearer token"))?;
    cx.app.keys.verify(token, cx.now).map_err(|reason| {
        let message = format!("invalid JWT: unable to parse or verify signature, {reason}");
        Error::forbidden("bad_jwt", message)
    })
}

/// The token of `Bearer <token>`: the word in any letters, one space, nothing else.
fn bearer(header: &str) -> Option<&str> {
    let (word, token) = header.split_once(' ')?;
    let is_one = !token.is_empty() && !token.contains(|letter: char| letter.is_ascii_whitespace());
    (word.eq_ignore_ascii_case("bearer") && is_one).then_some(token)
}

/// Account and session that claims name; one statement.
async fn account_of(cx: &Cx, claims: Map<String, Value>) -> Result<Caller> {
    let sub = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
    if sub.is_empty() {
        return Err(Error::forbidden("bad_jwt", "invalid claim: missing sub claim"));
    }
    let id =
        Uuid::parse_str(sub).map_err(|_| Error::bad_request("bad_jwt", "invalid claim: sub claim must be a UUID"))?;
    // The account is missed before the form of session_id is looked at.
    let session = session_id(&claims);
    let wanted = session.as_ref().ok().copied().flatten();
    let found = users::with_session(&mut cx.db(), id, wanted).await.or_refuse("Database error finding user")?;
    let found = found.ok_or_else(|| Error::forbidden("user_not_found", "User from sub claim in JWT does not exist"))?;
    if session?.is_some() && found.session.is_none() {
        return Err(Error::forbidden("session_not_found", "Session from session_id claim in JWT does not exist"));
    }
    Ok(Caller { account: found.account, session: found.session, claims })
}

/// The session that claims name: none when absent, empty or all zeros.
fn session_id(claims: &Map<String, Value>) -> Result<Option<Uuid>> {
    let named = claims.get("session_id").and_then(Value::as_str).unwrap_or_default();
    if named.is_empty() {
        return Ok(None);
    }
    let id = Uuid::parse_str(named)
        .map_err(|_| Error::forbidden("bad_jwt", "invalid claim: session_id claim must be a UUID"))?;
    Ok(Some(id).filter(|id| !id.is_nil()))
}
