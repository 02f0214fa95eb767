//! `POST /factors`: enrolls a factor, which is unverified at first.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::mfa::{FactorType, unknown_type};
use gotrue_rules::wire::requests::EnrollFactor;

use super::{phone, totp, webauthn};
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::sessions::elevate::require_session;

/// Enrolls a factor. The response contains its secret, which is returned only once.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    require_session(&caller)?;
    let request = EnrollFactor::decode(&cx.read_body().await?)?;
    let kind = FactorType::parse(&request.factor_type)?;
    kind.require_enrollment_enabled(&cx.app.policy.mfa)?;
    match kind {
        FactorType::Totp => totp::enroll(&cx, &caller, &request).await,
        FactorType::Phone => phone::enroll(&cx, &caller, &request).await,
        FactorType::WebAuthn => webauthn::enroll(&cx, &caller, &request).await,
        FactorType::RecoveryCode => Err(unknown_type()),
    }
}
