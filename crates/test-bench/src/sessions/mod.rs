//! Creates a session of a user without a sign-in, in the form that a test needs.

mod request;
mod storage;

use std::sync::Arc;

use chrono::TimeDelta;
use foundation::email::Email;
use foundation::error::Error;
use gotrue_rs::app::App;
use gotrue_rs::request_context::RequestContext;
use gotrue_rs::services::sessions::preset::{PresetSession, create_preset_session};
use gotrue_rs::services::sessions::{IssuedTokens, SessionExtras};
use gotrue_rs::store::users;
use gotrue_rules::domain::contact::Phone;
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::session::AmrClaim;
use gotrue_rules::domain::user::User;
use http::StatusCode;
use serde_json::{Value, json};

use self::request::{SessionFormat, SessionMethods, SessionOwner, SessionRequest};
pub use self::storage::derive_storage_key;
use crate::TestApiError;

/// Creates a session as a sign-in does: session, refresh token and signed access token.
///
/// The body is `{id | email | phone, aal?, amr?, expires_in?, origin?, format?}`. The answer is
/// `{session, storage_key}`, with `cookies` and `cookie_header` for the format `ssr`, and `storage_state` for
/// `playwright`. `storage_key` is the key under which the clients of this world store their session.
///
/// # Errors
///
/// 400 for an invalid body and 404 for an unknown user.
pub async fn create(app: &Arc<App>, body: &[u8], storage_key: &str) -> Result<Value, TestApiError> {
    let request = SessionRequest::parse(body)?;
    let origin = storage::parse_origin(request.origin.as_deref().unwrap_or(&app.policy.site.site_url));
    let origin = match (request.format, origin) {
        (SessionFormat::Json, _) => None,
        (_, Some(origin)) => Some(origin),
        (_, None) => return Err(invalid_origin()),
    };
    let cx = RequestContext::internal(Arc::clone(app));
    let user = find_user(&cx, &request.owner).await?;
    let issued = create_preset_session(&cx, build_preset(&cx, &user, &request)).await;
    let issued = issued.map_err(|error| refusal(&error))?;
    let mut answer = format_session(&issued, storage_key)?;
    match (request.format, origin) {
        (SessionFormat::Json, _) | (_, None) => {}
        (SessionFormat::Ssr, Some(origin)) => {
            let cookies = storage::encode_cookies(storage_key, &answer["session"].to_string());
            answer["cookie_header"] = json!(storage::format_cookie_header(&cookies));
            answer["cookies"] = storage::format_cookies(&cookies, &origin);
        }
        (SessionFormat::Playwright, Some(origin)) => {
            answer["storage_state"] = storage::format_storage_state(storage_key, &answer["session"], &origin);
        }
    }
    Ok(answer)
}

fn invalid_origin() -> TestApiError {
    TestApiError::bad_request(
        "origin: no origin such as http://localhost:3000 is given, and the site URL has none",
        "send the origin of the application under test, or set `site_url`",
    )
}

async fn find_user(cx: &RequestContext, owner: &SessionOwner) -> Result<User, TestApiError> {
    let audience = cx.audience();
    let db = &mut cx.db();
    let found = match owner {
        SessionOwner::Id(id) => {
            users::find_with_session(db, *id, None).await.map(|found| found.map(|found| found.user))
        }
        SessionOwner::Email(email) => users::find_by_email(db, &Email::normalize_for_lookup(email), &audience).await,
        SessionOwner::Phone(phone) => users::find_by_phone(db, &Phone::normalize_for_lookup(phone), &audience).await,
    };
    let found = found.map_err(|error| TestApiError::internal("finding the user", &error))?;
    found.ok_or_else(|| TestApiError::not_found(format!("no user has {owner}"), "create the user first, at `users`"))
}

/// Adds the methods that the request leaves open, and their times.
///
/// The last one is of now, each other one a second older than the next: tokens order methods by whole seconds.
fn build_preset<'a>(cx: &RequestContext, user: &'a User, request: &SessionRequest) -> PresetSession<'a> {
    let claim = |method: &str| AmrClaim { method: method.to_owned(), updated_at: cx.next_timestamp() };
    let verified = |kind: &FactorType| {
        user.factors.iter().rfind(|factor| factor.is_verified() && factor.factor_type == kind.as_str())
    };
    let (mut first_method, mut more_methods): (_, Vec<AmrClaim>) = match &request.methods {
        SessionMethods::Named { first, more } => (claim(first), more.iter().map(|method| claim(method)).collect()),
        SessionMethods::OneFactor => (claim(usual_method(user)), Vec::new()),
        SessionMethods::TwoFactors => {
            let kind = FactorType::ALL.into_iter().find(|kind| verified(kind).is_some()).unwrap_or(FactorType::Totp);
            (claim(usual_method(user)), vec![claim(kind.amr_method())])
        }
    };
    for (claim, age) in more_methods.iter_mut().rev().chain([&mut first_method]).zip(0..) {
        claim.updated_at -= TimeDelta::seconds(age);
    }
    let is_used = |kind: &FactorType| {
        std::iter::once(&first_method).chain(&more_methods).any(|claim| claim.method == kind.amr_method())
    };
    let kinds = [FactorType::Totp, FactorType::Phone, FactorType::WebAuthn, FactorType::RecoveryCode];
    let factor_id = kinds.iter().filter(|kind| is_used(kind)).find_map(verified).map(|factor| factor.id);
    PresetSession { user, first_method, more_methods, factor_id, expires_in: request.expires_in }
}

/// Returns the method by which this user would sign in.
fn usual_method(user: &User) -> &'static str {
    let has_provider =
        || user.identities.iter().any(|identity| !matches!(identity.provider.as_str(), "email" | "phone"));
    if user.is_anonymous {
        "anonymous"
    } else if user.is_sso_user {
        "sso/saml"
    } else if user.has_password() {
        "password"
    } else if has_provider() {
        "oauth"
    } else {
        "otp"
    }
}

/// Converts the refusal of a hook or of a rule to an error of the test API.
fn refusal(error: &Error) -> TestApiError {
    match StatusCode::from_u16(error.status()) {
        Ok(status) if status.is_client_error() => {
            let hint = "the session was refused as a sign-in would be, for example by the access token hook";
            TestApiError::new(status, error.code().as_str(), error.message().to_owned(), hint)
        }
        _ => TestApiError::internal("creating the session", error),
    }
}

fn format_session(issued: &IssuedTokens, storage_key: &str) -> Result<Value, TestApiError> {
    let session = serde_json::to_value(issued.body(SessionExtras::default()));
    let session = session.map_err(|error| TestApiError::internal("formatting the session", &error))?;
    Ok(json!({ "session": session, "storage_key": storage_key }))
}
