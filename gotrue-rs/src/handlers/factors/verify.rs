//! `POST /factors/{id}/verify`: a correct answer to a challenge raises the session to `aal2`.

use std::sync::Arc;

use foundation::error::{Error, Result};
use gotrue_rules::domain::mfa::verification::validate_first_verification;
use gotrue_rules::domain::mfa::{FactorStep, FactorType, unknown_type};
use gotrue_rules::wire::requests::VerifyFactor;

use super::{phone, totp, webauthn};
use crate::http::reply::Reply;
use crate::request_context::{Caller, CallerFactor, RequestContext};
use crate::services::limits;

/// Verifies the answer and returns new tokens of the same session.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>, factor: Arc<CallerFactor>) -> Result<Reply> {
    let CallerFactor(factor) = &*factor;
    let request = VerifyFactor::decode(&cx.read_body().await?)?;
    let kind = FactorType::parse(&factor.factor_type)?;
    if kind != FactorType::WebAuthn && request.code.is_empty() {
        return Err(Error::invalid("Code needs to be non-empty"));
    }
    kind.require_verification_enabled(&cx.app.policy.mfa, FactorStep::Verify)?;
    validate_first_verification(&caller.user, factor, caller.session.as_ref(), &cx.app.policy.mfa)?;
    let guess = limits::count_code_guess(&cx, &caller.user.id.to_string()).await?;
    let answer = match kind {
        FactorType::Totp => totp::verify(&cx, &caller, factor, &request).await,
        FactorType::Phone => phone::verify(&cx, &caller, factor, &request).await,
        FactorType::WebAuthn => webauthn::verify(&cx, &caller, factor, &request).await,
        FactorType::RecoveryCode => Err(unknown_type()),
    }?;
    guess.release_correct();
    Ok(answer)
}
