//! `POST /factors/{id}/challenge`: issues a challenge of a factor.
//!
//! A correct answer raises the session to `aal2`.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::mfa::{FactorStep, FactorType, unknown_type};

use super::{phone, totp, webauthn};
use crate::http::reply::Reply;
use crate::request_context::{Caller, CallerFactor, RequestContext};

/// Issues a challenge of the factor named in the path.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>, factor: Arc<CallerFactor>) -> Result<Reply> {
    let CallerFactor(factor) = &*factor;
    let kind = FactorType::parse(&factor.factor_type)?;
    kind.require_verification_enabled(&cx.app.policy.mfa, FactorStep::Challenge)?;
    match kind {
        FactorType::Totp => totp::challenge(&cx, &caller.user, factor).await,
        FactorType::Phone => phone::challenge(&cx, &caller.user, factor).await,
        FactorType::WebAuthn => webauthn::challenge(&cx, &caller.user, factor).await,
        FactorType::RecoveryCode => Err(unknown_type()),
    }
}
