//! `/passkeys`: the passkeys of the signed-in owner.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::auth_client::{AuthAnswer, AuthCall, AuthClient};
use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::session::DeskSession;
use crate::sign_in::{create_ticket, passkeys_unavailable, use_ticket};
use crate::store::tickets::{self, Purpose};
use crate::visit::Visit;

/// The longest name, in characters.
const MAX_NAME: usize = 100;

/// A request of a signed-in owner about passkeys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PasskeyRequest<'a> {
    /// The auth API.
    pub auth: &'a AuthClient,
    /// The request.
    pub visit: &'a Visit,
    /// The owner's session.
    pub session: &'a DeskSession,
}

impl PasskeyRequest<'_> {
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<AuthAnswer, DeskError> {
        let token = self.visit.sign_session_token(self.session.auth_session())?;
        let call = AuthCall { method, path, token: Some(&token), body };
        let answer = self.auth.call(&self.visit.sender, call).await?;
        if answer.status.is_success() { Ok(answer) } else { Err(refuse(&answer)) }
    }

    async fn record_done(&self, action: &str, passkey: &str) {
        self.visit.record_done(self.session.user.id, action, Some(passkey)).await;
    }

    pub(crate) async fn list(self) -> Result<Response, DeskError> {
        let answer = self.call(Method::GET, "/passkeys", None).await?;
        let passkeys: Vec<Value> = (answer.body.as_array().into_iter().flatten()).map(to_json).collect();
        Ok(respond::ok(&json!({ "passkeys": passkeys })))
    }

    /// Returns the options for a new passkey.
    pub(crate) async fn request_registration(self) -> Result<Response, DeskError> {
        let answer = self.call(Method::POST, "/passkeys/registration/options", Some(json!({}))).await?;
        let challenge = answer.body["challenge_id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
        let challenge = challenge.ok_or_else(DeskError::internal)?;
        let session = Some(self.session.auth_session());
        let ticket = create_ticket(self.visit, Purpose::Registration, session, Some(challenge)).await?;
        Ok(respond::ok(&json!({ "ticket": ticket, "options": answer.body["options"] })))
    }

    /// Stores a new passkey.
    pub(crate) async fn register(self, body: &JsonBody) -> Result<Response, DeskError> {
        let credential = body.get("credential").ok_or_else(|| DeskError::invalid("credential is missing."))?;
        let name = body.text("name", MAX_NAME)?;
        let purposes = [Purpose::Registration, Purpose::Registration];
        let (hash, ticket) = use_ticket(self.visit, body.text("ticket", 100)?, purposes).await?;
        let challenge =
            ticket.subject.filter(|_| ticket.session.is_some_and(|session| session.user_id == self.session.user.id));
        let body = Some(json!({ "challenge_id": challenge, "credential": credential }));
        let answer = self.call(Method::POST, "/passkeys/registration/verify", body).await?;
        tickets::delete(&mut self.visit.db(), &hash).await?;
        let id = answer.body["id"].as_str().unwrap_or_default();
        self.record_done("passkey_registered", id).await;
        let renamed = Some(json!({ "friendly_name": name }));
        self.call(Method::PATCH, &format!("/passkeys/{id}"), renamed).await?;
        Ok(respond::ok(&json!({ "id": id, "name": name })))
    }

    pub(crate) async fn delete(self, id: &str) -> Result<Response, DeskError> {
        let id = Uuid::parse_str(id).map_err(|_| DeskError::not_found("The passkey"))?.to_string();
        self.call(Method::DELETE, &format!("/passkeys/{id}"), None).await?;
        self.record_done("passkey_deleted", &id).await;
        Ok(respond::no_content())
    }
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
        (_, StatusCode::NOT_FOUND) => DeskError::not_found("The passkey"),
        _ => DeskError::invalid(answer.message().to_owned()),
    }
}
