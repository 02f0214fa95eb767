//! The first second factor of an owner.

use gotrue_rules::domain::user::Factor;
use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::step::SignIn;
use crate::auth_client::AuthCall;
use crate::auth_session::AuthSession;
use crate::http::error::DeskError;
use crate::store::tickets::Purpose;

/// The name of the factor.
const FACTOR_NAME: &str = "Owner's desk";

/// Enrolls a TOTP factor; returns what the page shows, and the ticket of its first code.
///
/// Unverified factors of an earlier sign-in are deleted: their secret may be lost.
pub(crate) async fn enroll(
    step: SignIn<'_>,
    session: AuthSession,
    factors: &[Factor],
) -> Result<(Value, String), DeskError> {
    let token = step.visit.sign_session_token(session)?;
    let unverified = factors.iter().filter(|it| !it.is_verified() && it.friendly_name == FACTOR_NAME);
    for factor in unverified {
        let path = format!("/factors/{}", factor.id);
        let call = AuthCall { method: Method::DELETE, path: &path, token: Some(&token), body: None };
        step.auth.call(&step.visit.sender, call).await?;
    }
    let body = json!({ "factor_type": "totp", "friendly_name": FACTOR_NAME, "issuer": step.settings.shop_name });
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
