//! `/passkeys`: the passkeys of the signed-in owner.

use axum::extract::Path;
use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::account_call::AccountCall;
use crate::auth_client::{AuthAnswer, AuthCall};
use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::path::parse_id;
use crate::http::respond;
use crate::schemas;
use crate::sign_in::{create_ticket, passkeys_unavailable, use_ticket};
use crate::store::tickets::{self, Purpose};

/// The longest name, in characters.
const MAX_NAME: usize = 100;
/// What a path names, for errors.
const PASSKEY: &str = "The passkey";

/// Calls the auth API as the owner.
async fn call_auth(
    call: &AccountCall,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> Result<AuthAnswer, DeskError> {
    let token = call.visit.sign_session_token(call.session.auth_session())?;
    let request = AuthCall { method, path, token: Some(&token), body };
    let answer = call.desk.auth.call(&call.visit.sender, request).await?;
    if answer.status.is_success() { Ok(answer) } else { Err(refuse(&answer)) }
}

/// Lists the passkeys.
#[utoipa::path(
    get, path = "/passkeys", tag = "passkeys",
    responses((status = 200, description = "The passkeys", body = Object), Refusal)
)]
pub(crate) async fn list_passkeys(call: AccountCall) -> Result<Response, DeskError> {
    let answer = call_auth(&call, Method::GET, "/passkeys", None).await?;
    let passkeys: Vec<Value> = (answer.body.as_array().into_iter().flatten()).map(to_json).collect();
    Ok(respond::ok(&json!({ "passkeys": passkeys })))
}

/// Returns the options for a new passkey.
#[utoipa::path(
    post, path = "/passkeys/options", tag = "passkeys",
    responses((status = 200, description = "The options, and a ticket", body = Object), Refusal)
)]
pub(crate) async fn request_registration(call: AccountCall) -> Result<Response, DeskError> {
    let answer = call_auth(&call, Method::POST, "/passkeys/registration/options", Some(json!({}))).await?;
    let challenge = answer.body["challenge_id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
    let challenge = challenge.ok_or_else(DeskError::internal)?;
    let session = Some(call.session.auth_session());
    let ticket = create_ticket(&call.visit, Purpose::Registration, session, Some(challenge)).await?;
    Ok(respond::ok(&json!({ "ticket": ticket, "options": answer.body["options"] })))
}

/// Stores a new passkey.
#[utoipa::path(
    post, path = "/passkeys", tag = "passkeys", request_body = schemas::NewPasskey,
    responses((status = 200, description = "The passkey", body = Object), Refusal)
)]
pub(crate) async fn register_passkey(call: AccountCall) -> Result<Response, DeskError> {
    let credential = call.body.get("credential").ok_or_else(|| DeskError::invalid("credential is missing."))?;
    let name = call.body.text("name", MAX_NAME)?;
    let purposes = [Purpose::Registration, Purpose::Registration];
    let (hash, ticket) = use_ticket(&call.visit, call.body.text("ticket", 100)?, purposes).await?;
    let challenge =
        ticket.subject.filter(|_| ticket.session.is_some_and(|session| session.user_id == call.session.user.id));
    let body = Some(json!({ "challenge_id": challenge, "credential": credential }));
    let answer = call_auth(&call, Method::POST, "/passkeys/registration/verify", body).await?;
    tickets::delete(&mut call.visit.db(), &hash).await?;
    let id = answer.body["id"].as_str().unwrap_or_default();
    call.record_done("passkey_registered", Some(id)).await;
    let renamed = Some(json!({ "friendly_name": name }));
    call_auth(&call, Method::PATCH, &format!("/passkeys/{id}"), renamed).await?;
    Ok(respond::ok(&json!({ "id": id, "name": name })))
}

/// Deletes a passkey.
#[utoipa::path(
    delete, path = "/passkeys/{id}", tag = "passkeys",
    params(("id" = Uuid, Path, description = "The id of the passkey")),
    responses((status = 204, description = "It is deleted"), Refusal)
)]
pub(crate) async fn delete_passkey(Path(id): Path<String>, call: AccountCall) -> Result<Response, DeskError> {
    let id = parse_id(&id, PASSKEY)?.to_string();
    call_auth(&call, Method::DELETE, &format!("/passkeys/{id}"), None).await?;
    call.record_done("passkey_deleted", Some(&id)).await;
    Ok(respond::no_content())
}

/// Answers other methods of `/passkeys/options`, which is no id of a passkey.
pub(crate) async fn refuse_name(method: Method, _: AccountCall) -> DeskError {
    DeskError::not_found(if method == Method::DELETE { PASSKEY } else { "The path" })
}

fn to_json(passkey: &Value) -> Value {
    json!({
        "id": passkey["id"],
        "name": passkey["friendly_name"],
        "created_at": passkey["created_at"],
        "last_used_at": passkey["last_used_at"],
    })
}

/// Returns the error of the desk for a refusal of the auth API.
fn refuse(answer: &AuthAnswer) -> DeskError {
    match (answer.error_code(), answer.status) {
        ("passkey_disabled", _) => passkeys_unavailable(),
        ("insufficient_aal", _) => {
            DeskError::new(StatusCode::FORBIDDEN, "insufficient_aal", "The change needs the second factor.")
                .hint("Sign out, and sign in with password and code.")
        }
        (_, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => DeskError::session_missing(),
        (_, StatusCode::NOT_FOUND) => DeskError::not_found(PASSKEY),
        _ => DeskError::invalid(answer.message().to_owned()),
    }
}
