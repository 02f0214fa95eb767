//! The first second factor of an owner.

use gotrue_rs::store::users;
use gotrue_rules::domain::user::Factor;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::step::SignIn;
use crate::auth_client::AuthCall;
use crate::auth_session::AuthSession;
use crate::http::error::DeskError;
use crate::store::tickets::Purpose;

const FACTOR_NAME: &str = "Owner's desk";

/// Enrolls a TOTP factor; returns what the page shows, and the ticket of its first code.
///
/// Unverified factors of an earlier sign-in are deleted: their secret may be lost.
pub(crate) async fn enroll(
    step: SignIn<'_>,
    session: AuthSession,
    factors: &[Factor],
) -> Result<(Value, String), DeskError> {
    enroll_named(step, session, factors, FACTOR_NAME).await
}

/// As [`enroll`], with a name that no verified factor of the user has.
pub(crate) async fn enroll_named(
    step: SignIn<'_>,
    session: AuthSession,
    factors: &[Factor],
    name: &str,
) -> Result<(Value, String), DeskError> {
    let token = step.visit.sign_session_token(session)?;
    let unverified =
        factors.iter().filter(|factor| !factor.is_verified() && factor.friendly_name.starts_with(FACTOR_NAME));
    for factor in unverified {
        let path = format!("/factors/{}", factor.id);
        let call = AuthCall { method: Method::DELETE, path: &path, token: Some(&token), body: None };
        step.auth.call(&step.visit.sender, call).await?;
    }
    let body = json!({ "factor_type": "totp", "friendly_name": name, "issuer": step.settings.shop_name });
    let call = AuthCall { method: Method::POST, path: "/factors", token: Some(&token), body: Some(body) };
    let answer = step.auth.call(&step.visit.sender, call).await?;
    let factor = answer.body["id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
    let Some(factor) = factor else {
        tracing::error!(code = answer.error_code(), "enrolling the factor of an owner failed");
        return Err(DeskError::unavailable("The second factor cannot be enrolled.").hint(answer.message().to_owned()));
    };
    let ticket = step.create_ticket(Purpose::Enrollment, Some(session), Some(factor)).await?;
    let totp = &answer.body["totp"];
    Ok((json!({ "secret": totp["secret"], "uri": totp["uri"], "qr_svg": totp["qr_code"] }), ticket))
}

/// Deletes the authenticator apps of a user, which ends the sessions that they raised, and enrolls a new one.
pub(crate) async fn replace_app(
    step: SignIn<'_>,
    user_id: Uuid,
    session: AuthSession,
) -> Result<(Value, String), DeskError> {
    delete_apps(step, user_id).await?;
    enroll(step, session, &[]).await
}

/// Deletes the TOTP factors of a user by the administrator's API.
async fn delete_apps(step: SignIn<'_>, user_id: Uuid) -> Result<(), DeskError> {
    let found = users::find_with_session(&mut step.visit.db(), user_id, None).await?;
    let factors = found.into_iter().flat_map(|found| found.user.factors);
    for factor in factors.filter(|factor| factor.factor_type == "totp") {
        let token = step.visit.sign_admin_token()?;
        let path = format!("/admin/users/{user_id}/factors/{}", factor.id);
        let call = AuthCall { method: Method::DELETE, path: &path, token: Some(&token), body: None };
        let answer = step.auth.call(&step.visit.sender, call).await?;
        if !answer.status.is_success() && answer.status != StatusCode::NOT_FOUND {
            tracing::error!(code = answer.error_code(), "the lost factor of an owner cannot be deleted");
            return Err(DeskError::unavailable("The lost authenticator app cannot be removed at the moment."));
        }
    }
    Ok(())
}
