//! `POST /sign-in/totp` and `POST /setup/totp`: the code, after which the session begins.

use axum::response::Response;
use gotrue_rs::store::users;
use http::{Method, StatusCode};
use serde_json::json;
use uuid::Uuid;

use super::call::SignInCall;
use super::step::{SignIn, ticket_expired, use_ticket};
use crate::auth_client::AuthCall;
use crate::auth_session::AuthSession;
use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::schemas;
use crate::session::{ProvedOwner, SignInMethod};
use crate::store::tickets::Purpose;

/// The factors of one user that a code is compared with.
const MOST_FACTORS: usize = 3;

/// Verifies the code and starts the session.
#[utoipa::path(
    post, path = "/sign-in/totp", tag = "sign-in", security(()), request_body = schemas::TicketCode,
    responses((status = 200, description = "The session, with its cookie", body = Object), Refusal)
)]
pub(super) async fn verify_code(call: SignInCall) -> Result<Response, DeskError> {
    let (step, body) = call.parts();
    let (visit, code) = (step.visit, body.text("code", 20)?);
    let presented = body.text("ticket", 100)?;
    let (ticket_hash, ticket) = use_ticket(visit, presented, [Purpose::Code, Purpose::Enrollment]).await?;
    let session = ticket.session.ok_or_else(ticket_expired)?;
    let factors = match ticket.subject {
        Some(factor) => vec![factor],
        None => list_factors(step, session.user_id).await?,
    };
    for factor in factors {
        if is_right_code(step, session, factor, code).await? {
            let proved = ProvedOwner { session, method: SignInMethod::Code, ticket_hash: &ticket_hash };
            return step.start_session(proved).await;
        }
    }
    visit.record_refused(Some(session.user_id), "code_failed", None).await;
    Err(DeskError::new(StatusCode::UNAUTHORIZED, "invalid_code", "The code is not valid.")
        .hint("Enter the latest code of the application. Each code counts once."))
}

/// Verifies the first code of the first owner and starts the session.
#[utoipa::path(
    post, path = "/setup/totp", tag = "sign-in", security(()), request_body = schemas::TicketCode,
    responses((status = 200, description = "The session, with its cookie", body = Object), Refusal)
)]
pub(super) async fn verify_first_code(call: SignInCall) -> Result<Response, DeskError> {
    verify_code(call).await
}

/// Lists the verified TOTP factors of the user.
async fn list_factors(step: SignIn<'_>, user_id: Uuid) -> Result<Vec<Uuid>, DeskError> {
    let found = users::find_with_session(&mut step.visit.db(), user_id, None).await?;
    let factors = found.into_iter().flat_map(|found| found.user.factors);
    let verified = factors.filter(|factor| factor.is_verified() && factor.factor_type == "totp");
    Ok(verified.map(|factor| factor.id).take(MOST_FACTORS).collect())
}

/// Lets the auth API compare the code, which raises the session.
pub(crate) async fn is_right_code(
    step: SignIn<'_>,
    session: AuthSession,
    factor: Uuid,
    code: &str,
) -> Result<bool, DeskError> {
    let token = step.visit.sign_session_token(session)?;
    let sender = step.visit.sender_for(Some(session.user_id));
    let call = |path, body| AuthCall { method: Method::POST, path, token: Some(&token), body: Some(body) };
    let path = format!("/factors/{factor}/challenge");
    let challenge = step.auth.call(&sender, call(&path, json!({}))).await?;
    let Some(challenge_id) = challenge.body["id"].as_str() else {
        tracing::info!(code = challenge.error_code(), "the second factor of an owner cannot be challenged");
        return Err(ticket_expired());
    };
    let path = format!("/factors/{factor}/verify");
    let body = json!({ "challenge_id": challenge_id, "code": code });
    let verified = step.auth.call(&sender, call(&path, body)).await?;
    Ok(verified.status == StatusCode::OK)
}
