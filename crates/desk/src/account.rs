//! `/session` and `/account`: how the signed-in owner signs in, sessions, and further owners.
//!
//! A change of the ways to sign in needs the password again.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use foundation::email::Email;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::account_call::AccountCall;
use crate::auth_client::AuthCall;
use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::path::parse_id;
use crate::http::query::Query;
use crate::http::respond;
use crate::sign_in::{self, create_reset_link};
use crate::store::tickets::{self, Purpose};
use crate::store::{account, devices, events, sessions};
use crate::{schemas, session};

/// The longest address and password, in characters.
const MAX_EMAIL: usize = 255;
const MAX_PASSWORD: usize = 1_000;
/// The events of a page.
const EVENTS_SHOWN: i64 = 20;

/// Returns the session.
#[utoipa::path(
    get, path = "/session", tag = "session",
    responses((status = 200, description = "The session", body = Object), Refusal)
)]
pub(crate) async fn show_session(call: AccountCall) -> Response {
    respond::ok(&call.session.to_json(&call.desk.settings, &call.visit))
}

/// Ends the session, and that of the auth API.
#[utoipa::path(
    delete, path = "/session", tag = "session",
    responses((status = 204, description = "It has ended, and the cookie is removed"), Refusal)
)]
pub(crate) async fn sign_out(call: AccountCall) -> Result<Response, DeskError> {
    // First: without the row of the desk nothing else ends it.
    sign_in::end_auth_session(&call.desk.auth, &call.visit, call.session.auth_session()).await?;
    sessions::delete(&mut call.visit.db(), call.session.id).await?;
    call.record_done("sign_out", None).await;
    let mut response = respond::no_content();
    for (name, value) in session::build_removal() {
        response.headers_mut().append(name, value);
    }
    Ok(response)
}

/// Returns sessions and owners.
#[utoipa::path(
    get, path = "/account", tag = "account",
    responses((status = 200, description = "Sessions and owners", body = Object), Refusal)
)]
pub(crate) async fn show_account(call: AccountCall) -> Result<Response, DeskError> {
    let (visit, user_id) = (&call.visit, call.session.user.id);
    let sessions = account::list_sessions(&mut visit.db(), user_id, visit.now).await?;
    let owners = account::list_owners(&mut visit.db().with_long_statements()).await?;
    let sessions: Vec<Value> = (sessions.iter())
        .map(|session| {
            json!({
                "id": session.id,
                "is_current": session.id == call.session.id,
                "method": session.method,
                "created_at": session.created_at,
                "last_used_at": session.last_used_at,
                "user_agent": session.user_agent,
            })
        })
        .collect();
    let owners: Vec<Value> = (owners.iter())
        .map(|owner| {
            json!({
                "id": owner.id,
                "email": owner.email,
                "is_you": owner.id == user_id,
                "last_sign_in_at": owner.last_sign_in_at,
            })
        })
        .collect();
    Ok(respond::ok(&json!({ "sessions": sessions, "owners": owners })))
}

/// Returns what was done at the desk, the latest first: `before` is the id of the last event of the page before.
#[utoipa::path(
    get, path = "/account/activity", tag = "account", params(schemas::ActivityParameters),
    responses((status = 200, description = "The events", body = Object), Refusal)
)]
pub(crate) async fn list_activity(RawQuery(query): RawQuery, call: AccountCall) -> Result<Response, DeskError> {
    let query = Query::parse(query.as_deref())?;
    let before = query.number("before", i64::MAX, 1..=i64::MAX)?;
    // One more tells whether there are earlier ones.
    let mut found = events::list(&mut call.visit.db(), before, EVENTS_SHOWN + 1).await?;
    let shown = usize::try_from(EVENTS_SHOWN).unwrap_or(usize::MAX);
    let has_more = found.len() > shown;
    found.truncate(shown);
    let events: Vec<Value> = (found.iter())
        .map(|event| {
            json!({
                "id": event.id,
                "at": event.at,
                "email": event.email,
                "action": event.action,
                "subject": event.subject,
                "address": event.address,
            })
        })
        .collect();
    Ok(respond::ok(&json!({ "events": events, "has_more": has_more })))
}

/// Changes the password, which ends the other sessions.
#[utoipa::path(
    post, path = "/account/password", tag = "account", request_body = schemas::PasswordChange,
    responses((status = 204, description = "It is changed"), Refusal)
)]
pub(crate) async fn change_password(call: AccountCall) -> Result<Response, DeskError> {
    let password = call.body.text("password", MAX_PASSWORD)?;
    sign_in::require_strong(&call.visit.app, password).await?;
    call.require_password().await?;
    // An administrator's change would end this session, too.
    let token = call.visit.sign_session_token(call.session.auth_session())?;
    let body = json!({ "password": password, "current_password": call.body.text("current_password", MAX_PASSWORD)? });
    let change = AuthCall { method: Method::PUT, path: "/user", token: Some(&token), body: Some(body) };
    let answer = call.desk.auth.call(&call.visit.sender, change).await?;
    if !answer.status.is_success() {
        return Err(DeskError::invalid(answer.message().to_owned()));
    }
    call.end_other_sessions("password_changed").await
}

/// Changes the address of the owner, who is known by password and second factor: nothing is confirmed by mail.
#[utoipa::path(
    post, path = "/account/email", tag = "account", request_body = schemas::EmailAddress,
    responses((status = 200, description = "The address", body = Object), Refusal)
)]
pub(crate) async fn change_email(call: AccountCall) -> Result<Response, DeskError> {
    let email = Email::parse(call.body.text("email", MAX_EMAIL)?.trim());
    let email = email.map_err(|_| DeskError::invalid("email must be an e-mail address."))?;
    call.require_password().await?;
    let change = json!({ "email": email.as_str(), "email_confirm": true });
    call.update_user(call.session.user.id, change).await?;
    call.record_done("email_changed", Some(email.as_str())).await;
    Ok(respond::ok(&json!({ "email": email.as_str() })))
}

/// Enrolls another authenticator app, which replaces the present one once its code is confirmed.
#[utoipa::path(
    post, path = "/account/authenticator", tag = "account", request_body = schemas::CurrentPassword,
    responses((status = 200, description = "The secret of the application, and a ticket", body = Object), Refusal)
)]
pub(crate) async fn begin_authenticator(call: AccountCall) -> Result<Response, DeskError> {
    call.require_password().await?;
    let name = format!("Owner's desk {}", call.visit.now.format("%Y-%m-%d %H:%M:%S"));
    let session = call.session.auth_session();
    let (totp, ticket) = sign_in::enroll_named(call.step(), session, &call.session.user.factors, &name).await?;
    Ok(respond::ok(&json!({ "totp": totp, "ticket": ticket })))
}

/// Confirms the new app, and removes the others.
#[utoipa::path(
    post, path = "/account/authenticator/confirm", tag = "account", request_body = schemas::TicketCode,
    responses((status = 204, description = "It has replaced the others"), Refusal)
)]
pub(crate) async fn confirm_authenticator(call: AccountCall) -> Result<Response, DeskError> {
    let (visit, code) = (&call.visit, call.body.text("code", 20)?);
    let purposes = [Purpose::Enrollment, Purpose::Enrollment];
    let (hash, ticket) = sign_in::use_ticket(visit, call.body.text("ticket", 100)?, purposes).await?;
    let own = ticket.session.filter(|session| session.user_id == call.session.user.id).zip(ticket.subject);
    let (session, factor) = own.ok_or_else(sign_in::ticket_expired)?;
    if !sign_in::is_right_code(call.step(), session, factor, code).await? {
        return Err(DeskError::new(StatusCode::UNAUTHORIZED, "invalid_code", "The code is not valid.")
            .hint("Enter the latest code of the application. Each code counts once."));
    }
    tickets::delete(&mut visit.db(), &hash).await?;
    for old in call.session.user.factors.iter().filter(|other| other.factor_type == "totp" && other.id != factor) {
        call.admin(Method::DELETE, &format!("/factors/{}", old.id), None).await?;
    }
    call.record_done("authenticator_replaced", None).await;
    Ok(respond::no_content())
}

/// Ends all other sessions of the owner.
#[utoipa::path(
    delete, path = "/account/sessions", tag = "account",
    responses((status = 204, description = "They have ended"), Refusal)
)]
pub(crate) async fn end_sessions(call: AccountCall) -> Result<Response, DeskError> {
    call.end_other_sessions("sessions_ended").await
}

/// Makes another owner, and returns the link by which a new user chooses password and app.
#[utoipa::path(
    post, path = "/account/owners", tag = "account", request_body = schemas::EmailAddress,
    responses((status = 200, description = "The token of the link", body = Object), Refusal)
)]
pub(crate) async fn add_owner(call: AccountCall) -> Result<Response, DeskError> {
    let email = Email::parse(call.body.text("email", MAX_EMAIL)?.trim());
    let email = email.map_err(|_| DeskError::invalid("email must be an e-mail address."))?;
    call.require_password().await?;
    let visit = &call.visit;
    let token = visit.sign_admin_token()?;
    let new = json!({ "email": email.as_str(), "email_confirm": true, "app_metadata": { "role": "owner" } });
    let creation = AuthCall { method: Method::POST, path: "/admin/users", token: Some(&token), body: Some(new) };
    let answer = call.desk.auth.call(&visit.sender, creation).await?;
    match (answer.status, answer.error_code()) {
        (StatusCode::OK, _) => {}
        (_, "email_exists") => {
            let error = DeskError::new(StatusCode::CONFLICT, "email_exists", "A user has this address already.");
            return Err(error.hint("Use another address. An administrator can give that user the role."));
        }
        _ => return Err(DeskError::invalid(answer.message().to_owned())),
    }
    let app = &visit.app;
    let link = create_reset_link(&app.pool, &*app.clock, &app.entropy, email.as_str()).await?;
    call.record_done("owner_added", Some(email.as_str())).await;
    Ok(respond::ok(&json!({ "token": link.ok_or_else(DeskError::internal)? })))
}

/// Withdraws the role of another owner.
#[utoipa::path(
    delete, path = "/account/owners/{id}", tag = "account",
    params(("id" = Uuid, Path, description = "The id of the owner")), request_body = schemas::CurrentPassword,
    responses((status = 204, description = "The role is withdrawn"), Refusal)
)]
pub(crate) async fn remove_owner(Path(id): Path<String>, call: AccountCall) -> Result<Response, DeskError> {
    let id = parse_id(&id, "The owner")?;
    if id == call.session.user.id {
        return Err(DeskError::invalid("Another owner has to remove you."));
    }
    call.require_password().await?;
    call.update_user(id, json!({ "app_metadata": { "role": null, "roles": null } })).await?;
    devices::delete_of_user(&mut call.visit.db(), id).await?;
    call.record_done("owner_removed", Some(&id.to_string())).await;
    Ok(respond::no_content())
}

impl AccountCall {
    async fn end_other_sessions(&self, action: &str) -> Result<Response, DeskError> {
        account::end_other_sessions(&mut self.visit.db(), self.session.user.id, self.session.id).await?;
        // A browser that was taken has no guesses of its own any more; this one is known again at its next sign-in.
        devices::delete_of_user(&mut self.visit.db(), self.session.user.id).await?;
        self.record_done(action, None).await;
        Ok(respond::no_content())
    }

    /// Requires the present password of the owner, by a sign-in that ends at once.
    async fn require_password(&self) -> Result<(), DeskError> {
        let password = self.body.text("current_password", MAX_PASSWORD)?;
        let (visit, step) = (&self.visit, self.step());
        let email = self.session.user.email.clone().unwrap_or_default();
        if let Some(session) = sign_in::verify_own_password(step, &email, password).await? {
            step.end_auth_session(session).await;
            if session.user_id == self.session.user.id {
                return Ok(());
            }
        }
        visit.record_refused(Some(self.session.user.id), "password_failed", None).await;
        Err(DeskError::new(StatusCode::BAD_REQUEST, "wrong_password", "The password is not right.")
            .hint("Enter the password with which you sign in now."))
    }

    async fn update_user(&self, id: Uuid, change: Value) -> Result<(), DeskError> {
        let token = self.visit.sign_admin_token()?;
        let path = format!("/admin/users/{id}");
        let call = AuthCall { method: Method::PUT, path: &path, token: Some(&token), body: Some(change) };
        let answer = self.desk.auth.call(&self.visit.sender, call).await?;
        match (answer.status, answer.error_code()) {
            (status, _) if status.is_success() => Ok(()),
            (_, "email_exists") => {
                Err(DeskError::new(StatusCode::CONFLICT, "email_exists", "A user has this address already."))
            }
            (StatusCode::NOT_FOUND, _) => Err(DeskError::not_found("The owner")),
            _ => Err(DeskError::invalid(answer.message().to_owned())),
        }
    }

    async fn admin(&self, method: Method, below: &str, body: Option<Value>) -> Result<(), DeskError> {
        let token = self.visit.sign_admin_token()?;
        let path = format!("/admin/users/{}{below}", self.session.user.id);
        let call = AuthCall { method, path: &path, token: Some(&token), body };
        self.desk.auth.call(&self.visit.sender, call).await.map(drop)
    }
}
