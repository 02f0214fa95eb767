//! The first owner: the link that the server prints, and `POST /setup`.

use axum::response::Response;
use chrono::TimeDelta;
use foundation::email::Email;
use foundation::time::Time;
use gotrue_rs::app::App;
use gotrue_rs::request_context::RequestContext;
use gotrue_rs::services::passwords;
use http::{Method, StatusCode};
use platform::clock::Clock;
use platform::entropy::Entropy;
use platform::store::{self, Connection, Pool};
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

use super::call::SignInCall;
use super::enrollment;
use super::password::{read_credentials, read_issued_session};
use super::step::SignIn;
use crate::auth_client::AuthCall;
use crate::auth_session::AuthSession;
use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::schemas;
use crate::store::setup_links::{self, Claim, Replaced};
use crate::token::{Token, hash_presented};

/// How long a link is valid.
const LINK_LIFETIME: TimeDelta = TimeDelta::hours(24);
/// How long a request may hold a link.
const CLAIM_LIFETIME: TimeDelta = TimeDelta::seconds(60);

/// Whether a desk has an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupState {
    /// There is none; this token makes one.
    Link(String),
    /// There is none, and a link that another server has printed is valid, or one is being used.
    Waiting,
    /// There is an owner.
    Complete,
}

/// Creates a link at the start of a server, unless there is an owner.
///
/// It ends the link of an earlier start, of which only the digest is stored, so that it cannot be printed again. One that was
/// made since `kept_since` stays: another server may have printed it.
///
/// # Errors
/// The database fails.
pub async fn prepare_start(
    pool: &Pool,
    clock: &dyn Clock,
    entropy: &Entropy,
    kept_since: Time,
) -> store::Result<SetupState> {
    insert_link(pool, clock, entropy, Replaced::MadeBefore(kept_since)).await
}

/// Creates a link, after which earlier ones are invalid; none if there is an owner.
///
/// # Errors
/// The database fails.
pub async fn create_link(pool: &Pool, clock: &dyn Clock, entropy: &Entropy) -> store::Result<SetupState> {
    insert_link(pool, clock, entropy, Replaced::All).await
}

async fn insert_link(
    pool: &Pool,
    clock: &dyn Clock,
    entropy: &Entropy,
    replaced: Replaced,
) -> store::Result<SetupState> {
    let mut db = Connection::pooled(pool.clone(), Arc::default()).with_long_statements();
    let (now, token) = (clock.now(), Token::generate(entropy));
    if setup_links::insert(&mut db, &token.hash, now, now + LINK_LIFETIME, replaced).await? {
        return Ok(SetupState::Link(token.text));
    }
    Ok(if setup_links::is_setup_open(&mut db, now).await? { SetupState::Waiting } else { SetupState::Complete })
}

/// Makes the first owner and enrolls the second factor.
///
/// The link is used up when the user exists. Before that, every refusal leaves it valid.
#[utoipa::path(
    post, path = "/setup", tag = "sign-in", security(()), request_body = schemas::FirstOwner,
    responses((status = 200, description = "The secret of the application, and a ticket", body = Object), Refusal)
)]
pub(super) async fn set_up(call: SignInCall) -> Result<Response, DeskError> {
    let (step, body) = call.parts();
    let visit = step.visit;
    let hash = hash_presented(body.text("token", 100)?).ok_or_else(invalid_link)?;
    let (email, password) = read_credentials(body)?;
    Email::parse(&email).map_err(|_| DeskError::invalid("email must be an e-mail address."))?;
    visit.count_link_attempt().await?;
    let mut db = visit.db().with_long_statements();
    match setup_links::claim(&mut db, &hash, visit.now, visit.now + CLAIM_LIFETIME).await? {
        Claim::Held => {}
        Claim::Busy => {
            let error = DeskError::new(StatusCode::CONFLICT, "setup_in_progress", "The link is being used.");
            return Err(error.hint("Try again in a minute."));
        }
        Claim::Invalid => {
            visit.record_refused(None, "setup_failed", None).await;
            return Err(invalid_link());
        }
    }
    let user_id = match create_owner(step, &email, &password).await {
        Ok(user_id) => user_id,
        Err(error) => {
            setup_links::release(&mut visit.db(), &hash).await?;
            return Err(error);
        }
    };
    setup_links::complete(&mut visit.db(), &hash, visit.now).await?;
    visit.record_done(user_id, "setup", Some(&email)).await;
    let session = begin_session(step, &email, &password).await?;
    let (totp, ticket) = enrollment::enroll(step, session, &[]).await?;
    call.desk.keep_setup(visit, false);
    Ok(respond::ok(&json!({ "totp": totp, "ticket": ticket })))
}

/// Creates the user with the role, by the administrator's API.
async fn create_owner(step: SignIn<'_>, email: &str, password: &str) -> Result<Uuid, DeskError> {
    require_strong(&step.visit.app, password).await?;
    let token = step.visit.sign_admin_token()?;
    let body = json!({
        "email": email,
        "password": password,
        "email_confirm": true,
        "app_metadata": { "role": "owner" },
    });
    let call = AuthCall { method: Method::POST, path: "/admin/users", token: Some(&token), body: Some(body) };
    let answer = step.auth.call(&step.visit.sender, call).await?;
    match (answer.status, answer.error_code()) {
        (StatusCode::OK, _) => {
            let id = answer.body["id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
            id.ok_or_else(DeskError::internal)
        }
        (_, "email_exists") => {
            let error = DeskError::new(StatusCode::CONFLICT, "email_exists", "A user has this address already.");
            Err(error.hint("Use another address, or set app_metadata.role of that user to \"owner\" and sign in."))
        }
        _ => Err(DeskError::invalid(answer.message().to_owned())),
    }
}

/// Requires a password that the project's policy allows.
pub(crate) async fn require_strong(app: &Arc<App>, password: &str) -> Result<(), DeskError> {
    let cx = RequestContext::internal(Arc::clone(app));
    match passwords::find_weakness(&cx, password).await {
        Ok(None) => Ok(()),
        Ok(Some(weak)) => Err(DeskError::new(StatusCode::BAD_REQUEST, "weak_password", weak.message)),
        // Too long to be hashed, or the look-up of leaked passwords fails.
        Err(error) if error.status() < 500 => Err(DeskError::invalid(error.message())),
        Err(_) => Err(DeskError::unavailable("The password cannot be checked at the moment.")),
    }
}

/// Signs the new owner in at the auth API.
pub(super) async fn begin_session(step: SignIn<'_>, email: &str, password: &str) -> Result<AuthSession, DeskError> {
    let body = Some(json!({ "email": email, "password": password }));
    let call = AuthCall { method: Method::POST, path: "/token?grant_type=password", token: None, body };
    let answer = step.auth.call(&step.visit.sender, call).await?;
    read_issued_session(&answer).ok_or_else(|| {
        tracing::error!(code = answer.error_code(), "the new owner cannot sign in");
        DeskError::unavailable("The owner is created, and cannot sign in at the moment.")
            .hint("Sign in with the password.")
    })
}

/// 401: the link cannot be used, or no more.
fn invalid_link() -> DeskError {
    DeskError::new(StatusCode::UNAUTHORIZED, "setup_link_invalid", "The link is not valid.")
        .hint("A link is valid once, for 24 hours. `basalt desk link` prints another one while there is no owner.")
}
