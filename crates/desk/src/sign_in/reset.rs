//! The link of the operator, `basalt desk reset`, and `POST /reset`: a new password and a new authenticator app.

use axum::response::Response;
use chrono::TimeDelta;
use foundation::email::Email;
use http::{Method, StatusCode};
use platform::clock::Clock;
use platform::entropy::Entropy;
use platform::store::{self, Connection, Pool};
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

use super::call::SignInCall;
use super::enrollment::replace_app;
use super::setup::{begin_session, require_strong};
use super::step::SignIn;
use crate::auth_client::AuthCall;
use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::schemas;
use crate::store::{devices, reset_links};
use crate::token::{Token, hash_presented};

/// How long a link is valid.
const LINK_LIFETIME: TimeDelta = TimeDelta::hours(24);
/// The longest password, in characters.
const MAX_PASSWORD: usize = 1_000;

/// Creates the link of an owner, after which earlier ones are invalid; `None` if no owner has the address.
///
/// # Errors
/// The database fails.
pub async fn create_reset_link(
    pool: &Pool,
    clock: &dyn Clock,
    entropy: &Entropy,
    email: &str,
) -> store::Result<Option<String>> {
    let mut db = Connection::pooled(pool.clone(), Arc::default()).with_long_statements();
    let (now, token, email) = (clock.now(), Token::generate(entropy), Email::normalize_for_lookup(email.trim()));
    let is_stored = reset_links::insert(&mut db, &email, &token.hash, now, now + LINK_LIFETIME).await?;
    Ok(is_stored.then_some(token.text))
}

/// Sets the password of the link's owner, removes all other ways to sign in, and enrolls a new app.
///
/// The link is used up when the new app is enrolled. Before that, every refusal leaves it valid.
#[utoipa::path(
    post, path = "/reset", tag = "sign-in", security(()), request_body = schemas::PasswordReset,
    responses((status = 200, description = "The secret of the application, and a ticket", body = Object), Refusal)
)]
pub(super) async fn reset(call: SignInCall) -> Result<Response, DeskError> {
    let (step, body) = call.parts();
    let visit = step.visit;
    let hash = hash_presented(body.text("token", 100)?).ok_or_else(invalid_link)?;
    let password = body.text("password", MAX_PASSWORD)?;
    visit.count_link_attempt().await?;
    require_strong(&visit.app, password).await?;
    let used = reset_links::record_use(&mut visit.db(), &hash, visit.now).await?;
    let Some((user_id, email)) = used else {
        visit.record_refused(None, "reset_failed", None).await;
        return Err(invalid_link());
    };
    match replace_sign_in(step, user_id, &email, password).await {
        Ok((totp, ticket)) => {
            visit.record_done(user_id, "reset", Some(&email)).await;
            Ok(respond::ok(&json!({ "totp": totp, "ticket": ticket })))
        }
        Err(error) => {
            reset_links::release(&mut visit.db(), &hash).await?;
            Err(error)
        }
    }
}

/// Replaces password and app; sessions, passkeys and recovery codes end.
async fn replace_sign_in(
    step: SignIn<'_>,
    user_id: Uuid,
    email: &str,
    password: &str,
) -> Result<(serde_json::Value, String), DeskError> {
    set_password(step, user_id, password).await?;
    delete_passkeys(step, user_id).await?;
    reset_links::end_sessions(&mut step.visit.db(), user_id).await?;
    devices::delete_of_user(&mut step.visit.db(), user_id).await?;
    let session = begin_session(step, email, password).await?;
    replace_app(step, user_id, session).await
}

/// Sets a password by the administrator's API.
async fn set_password(step: SignIn<'_>, user_id: Uuid, password: &str) -> Result<(), DeskError> {
    let token = step.visit.sign_admin_token()?;
    let path = format!("/admin/users/{user_id}");
    let body = Some(json!({ "password": password }));
    let call = AuthCall { method: Method::PUT, path: &path, token: Some(&token), body };
    let answer = step.auth.call(&step.visit.sender, call).await?;
    if answer.status.is_success() { Ok(()) } else { Err(DeskError::invalid(answer.message().to_owned())) }
}

async fn delete_passkeys(step: SignIn<'_>, user_id: Uuid) -> Result<(), DeskError> {
    if !step.visit.app.policy.passkeys.enabled {
        return Ok(());
    }
    let token = step.visit.sign_admin_token()?;
    let path = format!("/admin/users/{user_id}/passkeys");
    let call = AuthCall { method: Method::GET, path: &path, token: Some(&token), body: None };
    let listed = step.auth.call(&step.visit.sender, call).await?;
    let ids = listed.body.as_array().into_iter().flatten().filter_map(|passkey| passkey["id"].as_str());
    for id in ids {
        let path = format!("/admin/users/{user_id}/passkeys/{id}");
        let call = AuthCall { method: Method::DELETE, path: &path, token: Some(&token), body: None };
        step.auth.call(&step.visit.sender, call).await?;
    }
    Ok(())
}

/// 401: the link cannot be used, or no more.
fn invalid_link() -> DeskError {
    DeskError::new(StatusCode::UNAUTHORIZED, "reset_link_invalid", "The link is not valid.")
        .hint("A link is valid once, for 24 hours. `basalt desk reset` prints another one.")
}
