//! `POST /factors/recovery-codes/verify`: an unused code raises the session to `aal2`.

use std::sync::Arc;

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::mfa::recovery_codes::{is_plausible_code, normalize_code, verification_locked};
use gotrue_rules::domain::mfa::verification::wrong_code;
use gotrue_rules::domain::mfa::{FactorStep, FactorType};
use gotrue_rules::domain::user::Factor;
use gotrue_rules::wire::requests::VerifyRecoveryCode;
use platform::store::{Connection, OrInternalError};
use uuid::Uuid;

use super::super::answered_challenge::report_attempt;
use super::{find_factor, require_session};
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::sessions::SessionExtras;
use crate::services::sessions::elevate::{self, VerifiedFactor};
use crate::services::{limits, passwords};
use crate::store::recovery_codes;

const KIND: FactorType = FactorType::RecoveryCode;

/// Verifies the code and returns new tokens of the same session.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let user = &caller.user;
    require_session(&caller, "verify")?;
    KIND.require_verification_enabled(&cx.app.policy.mfa, FactorStep::Verify)?;
    let code = normalize_code(&VerifyRecoveryCode::decode(&cx.read_body().await?)?.code)?;
    let guess = limits::count_code_guess(&cx, &user.id.to_string()).await?;
    let Some(factor) = find_factor(user) else { return Err(wrong_code(KIND)) };
    let found = recovery_codes::list_unused(&mut cx.db(), user.id).await;
    let Some(unused) = found.or_internal_error("Database error finding recovery codes")? else {
        return Err(wrong_code(KIND));
    };
    if unused.lock.is_locked(cx.now) {
        guess.release_unchecked();
        return Err(verification_locked());
    }
    let matching =
        if is_plausible_code(&code) { passwords::find_recovery_code(&cx, &code, &unused.codes).await? } else { None };
    report_attempt(&cx, user.id, factor, matching.is_some()).await?;
    let Some(code_id) = matching else {
        let mut db = cx.begin().await?;
        let refused = register_failure(&cx, user.id, &mut db).await?;
        db.commit().await?;
        return Err(refused);
    };
    let answer = redeem(&cx, &caller, factor, code_id).await?;
    guess.release_correct();
    Ok(answer)
}

/// Uses the code and raises the session.
///
/// Of two concurrent requests with one code, one succeeds; the other counts as a wrong code.
async fn redeem(cx: &RequestContext, caller: &Caller, factor: &Factor, code_id: Uuid) -> Result<Reply> {
    let user_id = caller.user.id;
    let mut elevation = elevate::begin_elevation(cx, caller).await?;
    let locked = recovery_codes::lock(&mut elevation.db, user_id).await;
    let lock = locked.or_internal_error("Database error locking recovery code set")?;
    if lock.is_none_or(|lock| lock.is_locked(cx.now)) {
        elevation.rollback().await?;
        return Err(lock.map_or_else(|| wrong_code(KIND), |_| verification_locked()));
    }
    let consumed = recovery_codes::consume(&mut elevation.db, user_id, code_id, cx.now).await;
    let Some(remaining) = consumed.or_internal_error("Database error consuming recovery code")? else {
        let refused = register_failure(cx, user_id, &mut elevation.db).await?;
        elevation.db.commit().await?;
        return Err(refused);
    };
    let audit = AuditEntry::new(AuditAction::RecoveryCodesVerified)
        .with_trait("factor_id", factor.id.to_string())
        .with_trait("remaining", remaining);
    let issued = elevation.finish(cx, VerifiedFactor { factor_id: factor.id, factor_type: KIND, audit }).await?;
    Ok(Reply::json(&issued.body(SessionExtras::default())))
}

/// Counts a wrong code, and returns the error to answer with.
///
/// While verification is locked, nothing is counted, so that attempts do not prolong the lock.
async fn register_failure(cx: &RequestContext, user_id: Uuid, db: &mut Connection) -> Result<Error> {
    let failure = "Database error recording failed verification";
    let Some(lock) = recovery_codes::lock(db, user_id).await.or_internal_error(failure)? else {
        return Ok(wrong_code(KIND));
    };
    if lock.is_locked(cx.now) {
        return Ok(verification_locked());
    }
    let after = lock.after_failure(&cx.app.policy.mfa.recovery_codes, cx.now);
    recovery_codes::set_lock(db, user_id, after, cx.now).await.or_internal_error(failure)?;
    Ok(wrong_code(KIND))
}
