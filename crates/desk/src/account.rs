//! `/account`: how the signed-in owner signs in, other sessions, and further owners.
//!
//! A change of the ways to sign in needs the password again.

use axum::response::Response;
use foundation::email::Email;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::auth_client::AuthCall;
use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::http::query::Query;
use crate::http::respond;
use crate::session::DeskSession;
use crate::sign_in::{self, SignIn, create_reset_link};
use crate::store::tickets::{self, Purpose};
use crate::store::{account, devices, events};

/// The longest address and password, in characters.
const MAX_EMAIL: usize = 255;
const MAX_PASSWORD: usize = 1_000;
/// The events of a page.
const EVENTS_SHOWN: i64 = 20;

/// A request of the signed-in owner about the account.
#[derive(Clone, Copy)]
pub(crate) struct AccountRequest<'a> {
    /// The auth API, the settings, and the request.
    pub step: SignIn<'a>,
    /// The owner's session.
    pub session: &'a DeskSession,
}

impl AccountRequest<'_> {
    /// Returns sessions and owners.
    pub(crate) async fn show(self) -> Result<Response, DeskError> {
        let (visit, user_id) = (self.step.visit, self.session.user.id);
        let sessions = account::list_sessions(&mut visit.db(), user_id, visit.now).await?;
        let owners = account::list_owners(&mut visit.db().with_long_statements()).await?;
        let sessions: Vec<Value> = (sessions.iter())
            .map(|session| {
                json!({
                    "id": session.id,
                    "is_current": session.id == self.session.id,
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
    pub(crate) async fn list_activity(self, query: &Query) -> Result<Response, DeskError> {
        let before = query.number("before", i64::MAX, 1..=i64::MAX)?;
        // One more tells whether there are earlier ones.
        let mut found = events::list(&mut self.step.visit.db(), before, EVENTS_SHOWN + 1).await?;
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
    pub(crate) async fn change_password(self, body: &JsonBody) -> Result<Response, DeskError> {
        let password = body.text("password", MAX_PASSWORD)?;
        sign_in::require_strong(&self.step.visit.app, password).await?;
        self.require_password(body).await?;
        // An administrator's change would end this session, too.
        let token = self.step.visit.sign_session_token(self.session.auth_session())?;
        let body = json!({ "password": password, "current_password": body.text("current_password", MAX_PASSWORD)? });
        let call = AuthCall { method: Method::PUT, path: "/user", token: Some(&token), body: Some(body) };
        let answer = self.step.auth.call(&self.step.visit.sender, call).await?;
        if !answer.status.is_success() {
            return Err(DeskError::invalid(answer.message().to_owned()));
        }
        self.end_other_sessions("password_changed").await
    }

    /// Changes the address of the owner, who is known by password and second factor: nothing is confirmed by mail.
    pub(crate) async fn change_email(self, body: &JsonBody) -> Result<Response, DeskError> {
        let email = Email::parse(body.text("email", MAX_EMAIL)?.trim());
        let email = email.map_err(|_| DeskError::invalid("email must be an e-mail address."))?;
        self.require_password(body).await?;
        let change = json!({ "email": email.as_str(), "email_confirm": true });
        self.update_user(self.session.user.id, change).await?;
        self.record_done("email_changed", Some(email.as_str())).await;
        Ok(respond::ok(&json!({ "email": email.as_str() })))
    }

    /// Enrolls another authenticator app, which replaces the present one once its code is confirmed.
    pub(crate) async fn begin_authenticator(self, body: &JsonBody) -> Result<Response, DeskError> {
        self.require_password(body).await?;
        let name = format!("Owner's desk {}", self.step.visit.now.format("%Y-%m-%d %H:%M:%S"));
        let session = self.session.auth_session();
        let (totp, ticket) = sign_in::enroll_named(self.step, session, &self.session.user.factors, &name).await?;
        Ok(respond::ok(&json!({ "totp": totp, "ticket": ticket })))
    }

    /// Confirms the new app, and removes the others.
    pub(crate) async fn confirm_authenticator(self, body: &JsonBody) -> Result<Response, DeskError> {
        let (visit, code) = (self.step.visit, body.text("code", 20)?);
        let purposes = [Purpose::Enrollment, Purpose::Enrollment];
        let (hash, ticket) = sign_in::use_ticket(visit, body.text("ticket", 100)?, purposes).await?;
        let own = ticket.session.filter(|session| session.user_id == self.session.user.id).zip(ticket.subject);
        let (session, factor) = own.ok_or_else(sign_in::ticket_expired)?;
        if !sign_in::is_right_code(self.step, session, factor, code).await? {
            return Err(DeskError::new(StatusCode::UNAUTHORIZED, "invalid_code", "The code is not valid.")
                .hint("Enter the latest code of the application. Each code counts once."));
        }
        tickets::delete(&mut visit.db(), &hash).await?;
        for old in self.session.user.factors.iter().filter(|other| other.factor_type == "totp" && other.id != factor) {
            self.admin(Method::DELETE, &format!("/factors/{}", old.id), None).await?;
        }
        self.record_done("authenticator_replaced", None).await;
        Ok(respond::no_content())
    }

    /// Ends all other sessions of the owner.
    pub(crate) async fn end_sessions(self) -> Result<Response, DeskError> {
        self.end_other_sessions("sessions_ended").await
    }

    /// Makes another owner, and returns the link by which a new user chooses password and app.
    pub(crate) async fn add_owner(self, body: &JsonBody) -> Result<Response, DeskError> {
        let email = Email::parse(body.text("email", MAX_EMAIL)?.trim());
        let email = email.map_err(|_| DeskError::invalid("email must be an e-mail address."))?;
        self.require_password(body).await?;
        let visit = self.step.visit;
        let token = visit.sign_admin_token()?;
        let new = json!({ "email": email.as_str(), "email_confirm": true, "app_metadata": { "role": "owner" } });
        let call = AuthCall { method: Method::POST, path: "/admin/users", token: Some(&token), body: Some(new) };
        let answer = self.step.auth.call(&visit.sender, call).await?;
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
        self.record_done("owner_added", Some(email.as_str())).await;
        Ok(respond::ok(&json!({ "token": link.ok_or_else(DeskError::internal)? })))
    }

    /// Withdraws the role of another owner.
    pub(crate) async fn remove_owner(self, id: &str, body: &JsonBody) -> Result<Response, DeskError> {
        let id = Uuid::parse_str(id).map_err(|_| DeskError::not_found("The owner"))?;
        if id == self.session.user.id {
            return Err(DeskError::invalid("Another owner has to remove you."));
        }
        self.require_password(body).await?;
        self.update_user(id, json!({ "app_metadata": { "role": null, "roles": null } })).await?;
        devices::delete_of_user(&mut self.step.visit.db(), id).await?;
        self.record_done("owner_removed", Some(&id.to_string())).await;
        Ok(respond::no_content())
    }

    async fn end_other_sessions(self, action: &str) -> Result<Response, DeskError> {
        account::end_other_sessions(&mut self.step.visit.db(), self.session.user.id, self.session.id).await?;
        // A browser that was taken has no guesses of its own any more; this one is known again at its next sign-in.
        devices::delete_of_user(&mut self.step.visit.db(), self.session.user.id).await?;
        self.record_done(action, None).await;
        Ok(respond::no_content())
    }

    /// Requires the present password of the owner, by a sign-in that ends at once.
    async fn require_password(self, body: &JsonBody) -> Result<(), DeskError> {
        let password = body.text("current_password", MAX_PASSWORD)?;
        let visit = self.step.visit;
        let email = self.session.user.email.clone().unwrap_or_default();
        if let Some(session) = sign_in::verify_own_password(self.step, &email, password).await? {
            self.step.end_auth_session(session).await;
            if session.user_id == self.session.user.id {
                return Ok(());
            }
        }
        visit.record_refused(Some(self.session.user.id), "password_failed", None).await;
        Err(DeskError::new(StatusCode::BAD_REQUEST, "wrong_password", "The password is not right.")
            .hint("Enter the password with which you sign in now."))
    }

    async fn update_user(self, id: Uuid, change: Value) -> Result<(), DeskError> {
        let token = self.step.visit.sign_admin_token()?;
        let path = format!("/admin/users/{id}");
        let call = AuthCall { method: Method::PUT, path: &path, token: Some(&token), body: Some(change) };
        let answer = self.step.auth.call(&self.step.visit.sender, call).await?;
        match (answer.status, answer.error_code()) {
            (status, _) if status.is_success() => Ok(()),
            (_, "email_exists") => {
                Err(DeskError::new(StatusCode::CONFLICT, "email_exists", "A user has this address already."))
            }
            (StatusCode::NOT_FOUND, _) => Err(DeskError::not_found("The owner")),
            _ => Err(DeskError::invalid(answer.message().to_owned())),
        }
    }

    async fn admin(self, method: Method, below: &str, body: Option<Value>) -> Result<(), DeskError> {
        let token = self.step.visit.sign_admin_token()?;
        let path = format!("/admin/users/{}{below}", self.session.user.id);
        let call = AuthCall { method, path: &path, token: Some(&token), body };
        self.step.auth.call(&self.step.visit.sender, call).await.map(drop)
    }

    async fn record_done(self, action: &str, subject: Option<&str>) {
        self.step.visit.record_done(self.session.user.id, action, subject).await;
    }
}
