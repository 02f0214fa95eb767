//! `POST /sign-in/passkey/options` and `…/passkey`: sign-in with a passkey that verifies the user.

use axum::response::Response;
use gotrue_rs::store::users;
use http::{Method, StatusCode};
use serde_json::json;
use uuid::Uuid;

use super::call::SignInCall;
use super::password::read_issued_session;
use super::step::{invalid_credentials, ticket_expired, use_ticket};
use crate::auth_client::{AuthCall, Sender};
use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::ownership::is_admitted;
use crate::schemas;
use crate::session::{ProvedOwner, SignInMethod};
use crate::store::tickets::Purpose;
use crate::visit::Visit;

/// Returns the options for the browser, and a ticket that names their challenge.
///
/// Only challenges of tickets count: they require that the authenticator verifies the user.
#[utoipa::path(
    post, path = "/sign-in/passkey/options", tag = "sign-in", security(()),
    responses((status = 200, description = "The options, and a ticket", body = Object), Refusal)
)]
pub(super) async fn request_passkey(call: SignInCall) -> Result<Response, DeskError> {
    let (step, _) = call.parts();
    let path = "/passkeys/authentication/options";
    let call = AuthCall { method: Method::POST, path, token: None, body: Some(json!({})) };
    let answer = step.auth.call(&sender_of_device(step.visit), call).await?;
    let challenge = answer.body["challenge_id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
    let challenge = challenge.ok_or_else(passkeys_unavailable)?;
    let ticket = step.create_ticket(Purpose::Passkey, None, Some(challenge)).await?;
    Ok(respond::ok(&json!({ "ticket": ticket, "options": answer.body["options"] })))
}

/// Verifies the response of the browser and starts the session.
#[utoipa::path(
    post, path = "/sign-in/passkey", tag = "sign-in", security(()), request_body = schemas::PasskeyCredential,
    responses((status = 200, description = "The session, with its cookie", body = Object), Refusal)
)]
pub(super) async fn verify_passkey(call: SignInCall) -> Result<Response, DeskError> {
    let (step, body) = call.parts();
    let visit = step.visit;
    let credential = body.get("credential").ok_or_else(|| DeskError::invalid("credential is missing."))?;
    let presented = body.text("ticket", 100)?;
    let (ticket_hash, ticket) = use_ticket(visit, presented, [Purpose::Passkey, Purpose::Passkey]).await?;
    let challenge = ticket.subject.ok_or_else(ticket_expired)?;
    let body = Some(json!({ "challenge_id": challenge, "credential": credential }));
    let call = AuthCall { method: Method::POST, path: "/passkeys/authentication/verify", token: None, body };
    let answer = step.auth.call(&sender_of_device(visit), call).await?;
    let session = read_issued_session(&answer);
    if let Some(session) = session {
        let found = users::find_with_session(&mut visit.db(), session.user_id, None).await?;
        if found.is_some_and(|found| is_admitted(&found.user, visit.now)) {
            let method = SignInMethod::Passkey;
            return step.start_session(ProvedOwner { session, method, ticket_hash: &ticket_hash }).await;
        }
        step.end_auth_session(session).await;
    }
    visit.record_refused(session.map(|session| session.user_id), "passkey_failed", None).await;
    Err(invalid_credentials())
}

/// Returns the sender of calls that name no user yet.
fn sender_of_device(visit: &Visit) -> Sender {
    visit.sender_for(visit.device.as_ref().map(|device| device.user_id))
}

/// 404: the address of the desk allows no passkeys.
pub(crate) fn passkeys_unavailable() -> DeskError {
    DeskError::new(StatusCode::NOT_FOUND, "passkeys_unavailable", "Passkeys cannot be used at this address.")
        .hint("Set external_url to a URL with a host name: browsers refuse passkeys of an IP address.")
}
