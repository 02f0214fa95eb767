//! `POST /sign-in`: the password, of an owner.

use aws_lc_rs::digest::{SHA256, digest};
use axum::response::Response;
use foundation::email::Email;
use gotrue_rs::store::users;
use gotrue_rules::domain::user::User;
use http::{Method, StatusCode};
use serde_json::json;
use uuid::Uuid;

use super::call::SignInCall;
use super::enrollment;
use super::step::{SignIn, invalid_credentials};
use crate::auth_client::{AuthAnswer, AuthCall};
use crate::auth_session::AuthSession;
use crate::document::Refusal;
use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::ownership::is_admitted;
use crate::schemas;
use crate::store::tickets::Purpose;

/// The longest address and the longest password, in characters.
const MAX_EMAIL: usize = 255;
const MAX_PASSWORD: usize = 1_000;
/// The header of an issued session with its id.
const SESSION_ID: &str = "sb-auth-session-id";
const USER_ID: &str = "sb-auth-user-id";

/// Returns address and password of a body.
pub(super) fn read_credentials(body: &JsonBody) -> Result<(String, String), DeskError> {
    let email = Email::normalize_for_lookup(body.text("email", MAX_EMAIL)?.trim());
    Ok((email, body.text("password", MAX_PASSWORD)?.to_owned()))
}

/// Returns user and session of the tokens that an answer contains.
pub(super) fn read_issued_session(answer: &AuthAnswer) -> Option<AuthSession> {
    let id = |name: &str| Uuid::parse_str(answer.headers.get(name)?.to_str().ok()?).ok();
    let session = AuthSession { user_id: id(USER_ID)?, session_id: id(SESSION_ID)? };
    (answer.status == StatusCode::OK).then_some(session)
}

/// Verifies the password and answers with the next step.
#[utoipa::path(
    post, path = "/sign-in", tag = "sign-in", security(()), request_body = schemas::Credentials,
    responses((status = 200, description = "The next step, and its ticket", body = Object), Refusal)
)]
pub(super) async fn sign_in(call: SignInCall) -> Result<Response, DeskError> {
    let (step, body) = call.parts();
    let (email, password) = read_credentials(body)?;
    let owner = find_owner(step, &email).await?;
    let Some((user, session)) = verify_password(step, owner, &email, &password).await? else {
        step.visit.record_refused(None, "sign_in_failed", Some(&email)).await;
        return Err(invalid_credentials());
    };
    let has_totp = user.factors.iter().any(|factor| factor.is_verified() && factor.factor_type == "totp");
    if has_totp {
        let ticket = step.create_ticket(Purpose::Code, Some(session), None).await?;
        return Ok(respond::ok(&json!({ "ticket": ticket, "next": "totp" })));
    }
    let (totp, ticket) = enrollment::enroll(step, session, &user.factors).await?;
    Ok(respond::ok(&json!({ "ticket": ticket, "next": "enroll", "totp": totp })))
}

/// Finds the owner of an address, in equal time for an unknown one.
async fn find_owner(step: SignIn<'_>, email: &str) -> Result<Option<User>, DeskError> {
    let visit = step.visit;
    let found = users::find_by_email_in_equal_time(&mut visit.db(), email, &visit.app.policy.jwt.aud).await?;
    Ok(found.filter(|user| is_admitted(user, visit.now)))
}

/// Verifies the password of an owner; for all others it is verified for an address that no user has.
///
/// The auth API thus does equal work for all, and counts the guesses at each address alike.
async fn verify_password(
    step: SignIn<'_>,
    owner: Option<User>,
    email: &str,
    password: &str,
) -> Result<Option<(User, AuthSession)>, DeskError> {
    let unknown = || format!("{}@desk.invalid", &hex::encode(digest(&SHA256, email.as_bytes()).as_ref())[..32]);
    let name = if owner.is_some() { email.to_owned() } else { unknown() };
    let body = Some(json!({ "email": name, "password": password }));
    let call = AuthCall { method: Method::POST, path: "/token?grant_type=password", token: None, body };
    let sender = step.visit.sender_for(owner.as_ref().map(|owner| owner.id));
    let answer = step.auth.call(&sender, call).await?;
    let Some(session) = read_issued_session(&answer) else { return Ok(None) };
    match owner {
        Some(owner) if owner.id == session.user_id => Ok(Some((owner, session))),
        _ => {
            step.end_auth_session(session).await;
            Ok(None)
        }
    }
}

/// Compares a password with that of a signed-in owner; returns the session that the auth API began.
pub(crate) async fn verify_own_password(
    step: SignIn<'_>,
    email: &str,
    password: &str,
) -> Result<Option<AuthSession>, DeskError> {
    let body = Some(json!({ "email": email, "password": password }));
    let call = AuthCall { method: Method::POST, path: "/token?grant_type=password", token: None, body };
    Ok(read_issued_session(&step.auth.call(&step.visit.sender, call).await?))
}
