//! Checks that run before handlers, named in the route table.
//!
//! Their results are stored in the [`RequestContext`]; a handler has those of its parameters ([`GuardResult`]).

mod caller;

use std::sync::Arc;

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::admin_user::user_not_found;
use gotrue_rules::domain::linking::manual::require_manual_linking;
use gotrue_rules::domain::mfa::factor_not_found;
use gotrue_rules::domain::oauth_server::OAuthClient;
use gotrue_rules::domain::oauth_server::client::{malformed_client_id, not_found as client_not_found};
use gotrue_rules::domain::session_rules::SessionValidity;
use gotrue_rules::domain::sso::{self, SsoProvider};
use gotrue_rules::domain::user::{Factor, User};
use gotrue_rules::wire::requests::CaptchaToken;
use gotrue_rules::wire::uuid::parse_uuid;
use platform::journal::Step;
use platform::store::{OrInternalError, Replica};
use serde_json::{Map, Value};

pub use self::caller::authenticate_caller;
use self::caller::{
    find_caller, is_confined_client, load_caller, require_read_only_caller, session_id_claim, verify_access_token,
};
use crate::http::route_handler::{Guard, GuardResult};
use crate::request_context::{
    Admin, AuthenticatedClient, Caller, CallerFactor, GuardResults, ReadOnlyCaller, RequestContext, UserFactor,
};
use crate::services::limits::{self, LimitedRoute};
use crate::services::sessions::refresh::session_facts;
use crate::services::{explanations, oauth_server, saml};
use crate::store::{oauth_clients, sso_providers, users};

/// Requires a signed-in user.
///
/// Checks in order: header (401), signature and time (403), `sub`, user, session, ban.
pub const CALLER: Guard = Guard::new("Caller", |cx| Box::pin(async { authenticate_caller(cx).await.map(drop) }));

/// Requires a signed-in user like [`CALLER`], and loads what responses show of the user: no secrets.
///
/// It has the name of [`CALLER`], so that it runs in the place of a group's.
pub const CALLER_TO_READ: Guard = Guard::with_variant("Caller", "to read", |cx| Box::pin(require_read_only_caller(cx)));

/// Requires an administrator.
///
/// Checks in order: header (401), signature (403), a named session is valid, role (403).
pub const ADMIN: Guard = Guard::new("Admin", |cx| Box::pin(require_admin(cx)));

/// Loads the user named by `{user_id}`; 404 if malformed or unknown. Runs after [`ADMIN`].
pub const USER: Guard = Guard::new("User", |cx| Box::pin(async { load_path_user(cx).await.map(drop) }));

/// Finds the caller's factor named by `{factor_id}`; 404 if malformed or unknown. Runs after [`CALLER`].
pub const FACTOR: Guard = Guard::new("Factor", |cx| Box::pin(find_caller_factor(cx)));

/// Finds the factor named by `{factor_id}` of the user named by `{user_id}`; 404 if malformed or unknown.
///
/// Runs after [`USER`].
pub const USER_FACTOR: Guard = Guard::with_variant("Factor", "of a user", |cx| Box::pin(find_user_factor(cx)));

/// Refuses anonymous users (403). Runs after [`CALLER`].
pub const NOT_ANONYMOUS: Guard = Guard::new("NotAnonymous", |cx| Box::pin(require_not_anonymous(cx)));

/// Counts a request of `/verify`, by either method.
pub const LIMIT_VERIFY: Guard =
    Guard::new("Limit(Verify)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::Verify)));

/// Counts an update of a user.
pub const LIMIT_USER: Guard = Guard::new("Limit(User)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::User)));

/// Counts a password recovery.
pub const LIMIT_RECOVER: Guard =
    Guard::new("Limit(Recover)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::Recover)));

/// Counts a request for a one-time password.
pub const LIMIT_OTP: Guard = Guard::new("Limit(Otp)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::Otp)));

/// Counts a request for a magic link.
pub const LIMIT_MAGIC_LINK: Guard =
    Guard::new("Limit(MagicLink)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::MagicLink)));

/// Counts a repeated message.
pub const LIMIT_RESEND: Guard =
    Guard::new("Limit(Resend)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::Resend)));

/// Counts a sign-in with a passkey.
pub const LIMIT_PASSKEY: Guard =
    Guard::new("Limit(Passkey)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::Passkey)));

/// Requires a solved captcha where captchas are enabled.
///
/// Administrators pass, and so do the grants of `/token` that present a proof of their own. Errors: body (400), token
/// (400), verdict of the provider (400), no verdict (500).
pub const CAPTCHA: Guard = Guard::new("Captcha", |cx| Box::pin(require_captcha(cx)));

/// Counts a challenge of a factor.
pub const LIMIT_CHALLENGE: Guard =
    Guard::new("Limit(Challenge)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::FactorChallenge)));

/// Counts a verification of a factor.
pub const LIMIT_FACTOR_VERIFY: Guard =
    Guard::new("Limit(FactorVerify)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::FactorVerify)));

/// Counts a sign-in through SSO.
pub const LIMIT_SSO: Guard = Guard::new("Limit(Sso)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::Sso)));

/// Counts a SAML response.
pub const LIMIT_SAML: Guard =
    Guard::new("Limit(Saml)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::SamlAssertion)));

/// Requires SAML to be enabled (404).
pub const SAML: Guard = Guard::new("Saml", |cx| Box::pin(async { saml::service_provider(cx).map(|_| ()) }));

/// Loads the SSO identity provider named by `{idp_id}` (404). Runs after [`ADMIN`].
pub const SSO_PROVIDER: Guard = Guard::new("SsoProvider", |cx| Box::pin(load_path_sso_provider(cx)));

/// Requires passkeys to be enabled (404).
pub const PASSKEYS: Guard = Guard::new("Passkeys", |cx| Box::pin(async { require_passkeys(cx) }));

/// Requires the OAuth server to be enabled (404).
pub const OAUTH_SERVER: Guard = Guard::new("OAuthServer", |cx| Box::pin(async { require_oauth_server(cx) }));

/// Requires manual linking to be enabled (404).
pub const MANUAL_LINKING: Guard =
    Guard::new("ManualLinking", |cx| Box::pin(async { require_manual_linking(&cx.app.policy.security) }));

/// Requires custom OAuth providers to be enabled (404).
pub const CUSTOM_PROVIDERS: Guard =
    Guard::new("CustomProviders", |cx| Box::pin(async { require_custom_providers(cx) }));

fn require_custom_providers(cx: &RequestContext) -> Result<()> {
    if cx.app.policy.custom_oauth.enabled {
        return Ok(());
    }
    Err(Error::new(ErrorCode::FeatureDisabled, "Custom OAuth providers are disabled"))
}

/// Requires SCIM to be enabled (404).
pub const SCIM: Guard = Guard::new("Scim", |cx| Box::pin(async { require_scim(cx) }));

fn require_scim(cx: &RequestContext) -> Result<()> {
    if cx.app.policy.experimental.scim_enabled {
        return Ok(());
    }
    Err(Error::new(ErrorCode::FeatureDisabled, "SCIM server is disabled"))
}

/// Loads the OAuth client named by `{client_id}`; 400 if malformed, 404 if unknown.
///
/// Runs after [`ADMIN`].
pub const OAUTH_APP: Guard = Guard::new("OAuthApp", |cx| Box::pin(load_path_oauth_client(cx)));

/// Authenticates the OAuth client (400). A request without client credentials passes without a client.
pub const CLIENT: Guard = Guard::new("Client", |cx| Box::pin(authenticate_client(cx)));

/// Counts a dynamic client registration.
pub const LIMIT_REGISTER: Guard =
    Guard::new("Limit(Register)", |cx| Box::pin(limits::count_request(cx, LimitedRoute::OAuthClientRegister)));

impl GuardResult for Caller {
    const GUARDS: &'static [Guard] = &[CALLER];

    fn find(results: &GuardResults) -> Option<&Arc<Self>> {
        results.caller.as_ref()
    }
}

impl GuardResult for ReadOnlyCaller {
    const GUARDS: &'static [Guard] = &[CALLER_TO_READ];

    fn find(results: &GuardResults) -> Option<&Arc<Self>> {
        results.read_only_caller.as_ref()
    }
}

impl GuardResult for CallerFactor {
    const GUARDS: &'static [Guard] = &[CALLER, FACTOR];

    fn find(results: &GuardResults) -> Option<&Arc<Self>> {
        results.caller_factor.as_ref()
    }
}

impl GuardResult for Admin {
    const GUARDS: &'static [Guard] = &[ADMIN];

    fn find(results: &GuardResults) -> Option<&Arc<Self>> {
        results.admin.as_ref()
    }
}

/// The user named in an administrator's path.
impl GuardResult for User {
    const GUARDS: &'static [Guard] = &[ADMIN, USER];

    fn find(results: &GuardResults) -> Option<&Arc<Self>> {
        results.user.as_ref()
    }
}

impl GuardResult for UserFactor {
    const GUARDS: &'static [Guard] = &[ADMIN, USER, USER_FACTOR];

    fn find(results: &GuardResults) -> Option<&Arc<Self>> {
        results.user_factor.as_ref()
    }
}

/// The provider named in an administrator's path.
impl GuardResult for SsoProvider {
    const GUARDS: &'static [Guard] = &[ADMIN, SSO_PROVIDER];

    fn find(results: &GuardResults) -> Option<&Arc<Self>> {
        results.sso_provider.as_ref()
    }
}

/// The client named in an administrator's path.
impl GuardResult for OAuthClient {
    const GUARDS: &'static [Guard] = &[ADMIN, OAUTH_APP];

    fn find(results: &GuardResults) -> Option<&Arc<Self>> {
        results.client.as_ref()
    }
}

impl GuardResult for AuthenticatedClient {
    const GUARDS: &'static [Guard] = &[CLIENT];

    fn find(results: &GuardResults) -> Option<&Arc<Self>> {
        results.authenticated_client.as_ref()
    }
}

fn require_passkeys(cx: &RequestContext) -> Result<()> {
    if cx.app.policy.passkeys.enabled {
        return Ok(());
    }
    Err(Error::new(ErrorCode::PasskeyDisabled, "Passkeys are disabled"))
}

fn require_oauth_server(cx: &RequestContext) -> Result<()> {
    if cx.app.policy.oauth_server.enabled {
        return Ok(());
    }
    Err(Error::new(ErrorCode::FeatureDisabled, "OAuth server is disabled"))
}

async fn require_admin(cx: &mut RequestContext) -> Result<()> {
    let admin = authenticate_admin(cx, verify_access_token(cx)?).await?;
    cx.guard_results.admin = Some(Arc::new(admin));
    if !cx.request.method.is_safe() {
        cx.guard_results.change = cx.app.replica.as_ref().map(Replica::begin_change);
    }
    Ok(())
}

async fn authenticate_admin(cx: &RequestContext, claims: Arc<Map<String, Value>>) -> Result<Admin> {
    let mut user_id = None;
    // A malformed `session_id` is reported after a wrong `sub` and a missing user.
    if !matches!(session_id_claim(&claims), Ok(None)) {
        let found = load_caller(cx, Arc::clone(&claims)).await?;
        let validity =
            found.session.as_ref().map(|session| session_facts(cx, &found.user, session, None).decide_validity());
        if validity != Some(SessionValidity::Valid) {
            if let (Some(validity), Some(session)) = (validity, &found.session) {
                explanations::record_invalid_session(cx, validity, session, None);
            }
            return Err(Error::http(403, ErrorCode::SessionExpired, "Session is no longer valid"));
        }
        if is_confined_client(cx, found.is_oauth_client_token()) {
            return Err(not_admin());
        }
        user_id = Some(found.user.id);
    }
    if !cx.has_admin_role(&claims) {
        return Err(not_admin());
    }
    if let Some(id) = user_id {
        cx.record_user(id);
    }
    let role = claims.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Admin { role, claims })
}

fn not_admin() -> Error {
    Error::new(ErrorCode::NotAdmin, "User not allowed")
}

async fn require_captcha(cx: &RequestContext) -> Result<()> {
    let Some(verifier) = &cx.app.captcha else { return Ok(()) };
    if is_captcha_exempt(cx) || is_admin_request(cx).await {
        return Ok(());
    }
    let token = CaptchaToken::decode(&cx.read_body().await?)?.token;
    if token.is_empty() {
        return Err(captcha_failed(cx, "no captcha_token found"));
    }
    cx.journal.record(Step::Call("captcha.verify"));
    let verdict = verifier.verify(&token, cx.client_ip()).await;
    let verdict = verdict.map_err(|cause| Error::internal("captcha verification process failed").with_cause(cause))?;
    if verdict.is_solved { Ok(()) } else { Err(captcha_failed(cx, &verdict.error_codes.join(", "))) }
}

fn captcha_failed(cx: &RequestContext, reason: &str) -> Error {
    explanations::record_captcha(cx, reason);
    Error::new(ErrorCode::CaptchaFailed, format!("captcha protection: request disallowed ({reason})"))
}

/// Whether the grant presents its own proof: a refresh token, an authorization code or an ID token.
fn is_captcha_exempt(cx: &RequestContext) -> bool {
    let grant = cx.request.query("grant_type").unwrap_or_default();
    cx.request.path == "/token" && matches!(grant, "pkce" | "refresh_token" | "id_token")
}

async fn is_admin_request(cx: &RequestContext) -> bool {
    let decisions = cx.journal.count_decisions();
    let is_admin = match verify_access_token(cx) {
        Ok(claims) if cx.has_admin_role(&claims) => authenticate_admin(cx, claims).await.is_ok(),
        _ => false,
    };
    // The request is not refused here.
    cx.journal.remove_decisions_after(decisions);
    is_admin
}

async fn load_path_user(cx: &mut RequestContext) -> Result<Arc<User>> {
    let named = cx.request.path_param("user_id").unwrap_or_default();
    let id = parse_uuid(named).ok_or_else(|| malformed_path_id("user_id"))?;
    let found =
        users::find_with_session(&mut cx.db(), id, None).await.or_internal_error("Database error loading user")?;
    let found = found.ok_or_else(user_not_found)?;
    Ok(Arc::clone(cx.guard_results.user.insert(Arc::new(found.user))))
}

async fn load_path_sso_provider(cx: &mut RequestContext) -> Result<()> {
    let named =
        cx.request.path_param("idp_id").and_then(sso::SsoProviderRef::parse).ok_or_else(sso::provider_not_found)?;
    let found = match named {
        sso::SsoProviderRef::Id(id) => sso_providers::find_by_id(&mut cx.db(), id).await,
        sso::SsoProviderRef::ResourceId(id) => sso_providers::find_by_resource_id(&mut cx.db(), &id).await,
    };
    let found = found.or_internal_error("Database error finding SSO Identity Provider")?;
    cx.guard_results.sso_provider = Some(Arc::new(found.ok_or_else(sso::provider_not_found)?));
    Ok(())
}

async fn load_path_oauth_client(cx: &mut RequestContext) -> Result<()> {
    let named = cx.request.path_param("client_id").unwrap_or_default();
    let id = parse_uuid(named).ok_or_else(malformed_client_id)?;
    let found = oauth_clients::find_by_id(&mut cx.db(), id).await.or_internal_error("Error loading OAuth client")?;
    cx.guard_results.client = Some(Arc::new(found.ok_or_else(client_not_found)?));
    Ok(())
}

async fn authenticate_client(cx: &mut RequestContext) -> Result<()> {
    let client = oauth_server::authenticate_client(cx).await?;
    cx.guard_results.authenticated_client = Some(Arc::new(AuthenticatedClient(client)));
    Ok(())
}

async fn find_caller_factor(cx: &mut RequestContext) -> Result<()> {
    let caller = find_caller(cx).await?;
    let factor = find_path_factor(cx, &caller.user)?;
    cx.guard_results.caller_factor = Some(Arc::new(CallerFactor(factor)));
    Ok(())
}

async fn find_user_factor(cx: &mut RequestContext) -> Result<()> {
    let user = match &cx.guard_results.user {
        Some(loaded) => Arc::clone(loaded),
        None => load_path_user(cx).await?,
    };
    let factor = find_path_factor(cx, &user)?;
    cx.guard_results.user_factor = Some(Arc::new(UserFactor(factor)));
    Ok(())
}

/// Runs no statement: a user is loaded together with the factors.
fn find_path_factor(cx: &RequestContext, user: &User) -> Result<Factor> {
    let named = cx.request.path_param("factor_id").unwrap_or_default();
    let id = parse_uuid(named).ok_or_else(|| malformed_path_id("factor_id"))?;
    user.factors.iter().find(|factor| factor.id == id).cloned().ok_or_else(factor_not_found)
}

/// 404: a segment of the path must be a UUID.
pub fn malformed_path_id(name: &str) -> Error {
    Error::http(404, ErrorCode::ValidationFailed, format!("{name} must be an UUID"))
}

async fn require_not_anonymous(cx: &mut RequestContext) -> Result<()> {
    let is_anonymous = find_caller(cx).await?.claims.get("is_anonymous").and_then(Value::as_bool).unwrap_or(false);
    if is_anonymous {
        return Err(Error::http(
            403,
            ErrorCode::NoAuthorization,
            "Anonymous user not allowed to perform these actions",
        ));
    }
    Ok(())
}
