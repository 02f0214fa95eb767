//! Recovery codes: `GET`, `POST` and `DELETE /factors/recovery-codes`, and `POST …/regenerate`.
//!
//! A user has one set of codes, which a factor of type `recovery_code` stands for. It is never the only factor that the
//! user can use. Verification is in `verify.rs`.

pub mod verify;

use std::sync::Arc;

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::mfa::enrollment::name_conflict;
use gotrue_rules::domain::mfa::recovery_codes::{
    RecoveryCodesChange, already_enrolled, draw_codes, factor_name, has_usable_other, not_enrolled,
    other_factor_required, require_elevated, usable_other_types,
};
use gotrue_rules::domain::mfa::{FactorType, stored_amr_method};
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::user::{Factor, User};
use gotrue_rules::wire::factor::{RecoveryCodesJson, RecoveryCodesStatusJson, UnenrolledJson};
use gotrue_rules::wire::requests::GenerateRecoveryCodes;
use platform::store::OrInternalError;

use super::enrolled_factor::prepare_enrollment;
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::notices::{self, FactorEvent};
use crate::services::{audit, passwords};
use crate::store::factors::{self, FactorInsertion, FactorLimits, FactorRemoval, RemovedFactor};
use crate::store::recovery_codes::{self, HashedCodes, NewRecoveryCodes};
use crate::store::{elevation, users};

/// Returns the number of codes, also below `aal2`.
pub async fn status(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let user = &caller.user;
    find_factor(user).ok_or_else(not_enrolled)?;
    let found = recovery_codes::count(&mut cx.db(), user.id).await;
    let count = found.or_internal_error("Database error counting recovery codes")?.ok_or_else(not_enrolled)?;
    Ok(Reply::json(&RecoveryCodesStatusJson {
        id: count.factor_id,
        factor_type: FactorType::RecoveryCode.as_str(),
        total: count.total,
        remaining: count.remaining,
    }))
}

/// Generates codes and returns them, which happens only once.
pub async fn generate(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let policy = &cx.app.policy.mfa;
    let session = require_session(&caller, "generate")?;
    FactorType::RecoveryCode.require_enrollment_enabled(policy)?;
    let request = GenerateRecoveryCodes::decode(&cx.read_body().await?)?;
    require_elevated(session, RecoveryCodesChange::Generate)?;
    if find_factor(&caller.user).is_some() {
        return Err(already_enrolled());
    }
    let name = factor_name(&request.friendly_name);
    prepare_enrollment(&cx, &caller, name, None).await?;
    if !has_usable_other(&caller.user.factors, policy, None) {
        return Err(other_factor_required());
    }
    let codes = draw(&cx);
    let (factor_id, set_id) = (cx.entropy.uuid(), cx.entropy.uuid());
    let new = NewRecoveryCodes {
        factor_id,
        set_id,
        user_id: caller.user.id,
        friendly_name: name,
        codes: hash(&cx, &codes).await?,
        usable: usable_other_types(policy),
        now: cx.now,
    };
    store(&cx, &caller.user, new, codes.len()).await?;
    let kind = FactorType::RecoveryCode.as_str();
    notices::send_factor_changed(&cx, &caller.user, FactorEvent::Enrolled, kind).await;
    let shown =
        RecoveryCodesJson { id: factor_id, factor_type: kind, friendly_name: name, total: codes.len(), codes: &codes };
    Ok(Reply::json(&shown))
}

/// Stores the codes within the limits, which are checked again under a lock.
async fn store(cx: &RequestContext, user: &User, new: NewRecoveryCodes<'_>, count: usize) -> Result<()> {
    let (name, policy) = (new.friendly_name, &cx.app.policy.mfa);
    let entry = AuditEntry::new(AuditAction::RecoveryCodesGenerated)
        .with_trait("factor_id", new.factor_id.to_string())
        .with_trait("count", count);
    let audit = audit::build_rows(cx, user, [entry]);
    let limits = FactorLimits { enrolled: policy.max_enrolled_factors, verified: Some(policy.max_verified_factors) };
    let mut db = cx.begin().await?;
    let inserted = recovery_codes::insert(&mut db, new, limits, audit).await;
    match inserted.or_internal_error("Database error creating recovery codes")? {
        FactorInsertion::Written => return Ok(db.commit().await?),
        FactorInsertion::NameTaken => {
            db.rollback().await?;
            return Err(name_conflict(name));
        }
        FactorInsertion::LimitReached | FactorInsertion::PhoneTaken => db.rollback().await?,
    }
    // What a concurrent request changed decides which error it is.
    let current = users::find_with_session(&mut cx.db(), user.id, None).await?;
    let factors: Vec<Factor> = current.into_iter().flat_map(|current| current.user.factors).collect();
    if factors.iter().any(Factor::is_recovery_code) {
        return Err(already_enrolled());
    }
    if !has_usable_other(&factors, policy, None) {
        return Err(other_factor_required());
    }
    Err(Error::new(ErrorCode::Conflict, "Factors of this user are being changed, please try again"))
}

/// Replaces all codes and returns the new ones. Id and name stay, and a lock ends.
pub async fn regenerate(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let user = &caller.user;
    let session = require_session(&caller, "regenerate")?;
    FactorType::RecoveryCode.require_enrollment_enabled(&cx.app.policy.mfa)?;
    require_elevated(session, RecoveryCodesChange::Regenerate)?;
    let factor = find_factor(user).ok_or_else(not_enrolled)?;
    let codes = draw(&cx);
    let hashed = hash(&cx, &codes).await?;
    let entry = AuditEntry::new(AuditAction::RecoveryCodesRegenerated)
        .with_trait("factor_id", factor.id.to_string())
        .with_trait("count", codes.len());
    let audit = audit::build_rows(&cx, user, [entry]);
    let mut db = cx.begin().await?;
    let locked = recovery_codes::lock(&mut db, user.id).await;
    let replaced = match locked.or_internal_error("Database error replacing recovery codes")? {
        Some(_) => recovery_codes::replace(&mut db, user.id, hashed, cx.now, audit).await,
        None => Ok(None),
    };
    let Some((id, name)) = replaced.or_internal_error("Database error replacing recovery codes")? else {
        db.rollback().await?;
        return Err(not_enrolled());
    };
    db.commit().await?;
    let factor_type = FactorType::RecoveryCode.as_str();
    Ok(Reply::json(&RecoveryCodesJson { id, factor_type, friendly_name: &name, total: codes.len(), codes: &codes }))
}

/// Deletes all codes with their factor. Sessions that a code raised fall back to `aal1`.
pub async fn delete(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let user = &caller.user;
    let session = require_session(&caller, "delete")?;
    require_elevated(session, RecoveryCodesChange::Delete)?;
    let factor = find_factor(user).ok_or_else(not_enrolled)?;
    let entry = AuditEntry::new(AuditAction::RecoveryCodesDeleted).with_trait("factor_id", factor.id.to_string());
    let audit = audit::build_rows(&cx, user, [entry]);
    let mut db = cx.begin().await?;
    elevation::lock_sessions(&mut db, user.id, session.id).await?;
    let removed = RemovedFactor {
        id: factor.id,
        user_id: user.id,
        amr_method: &stored_amr_method(&factor.factor_type),
        kept: None,
    };
    let deleted = factors::delete(&mut db, removed, audit).await;
    let outcome = deleted.or_internal_error("Database error deleting recovery code factor")?;
    db.commit().await?;
    if outcome != FactorRemoval::Deleted {
        return Err(not_enrolled());
    }
    notices::send_factor_changed(&cx, user, FactorEvent::Unenrolled, &factor.factor_type).await;
    Ok(Reply::json(&UnenrolledJson { id: factor.id }))
}

/// The factor that stands for the user's codes.
fn find_factor(user: &User) -> Option<&Factor> {
    user.factors.iter().find(|factor| factor.is_recovery_code())
}

/// The caller's session; 500, as in the reference, if the access token names none.
fn require_session<'a>(caller: &'a Caller, verb: &str) -> Result<&'a Session> {
    let missing =
        || Error::internal(format!("A valid session and a registered user are required to {verb} recovery codes"));
    caller.session.as_ref().ok_or_else(missing)
}

fn draw(cx: &RequestContext) -> Vec<String> {
    let policy = &cx.app.policy.mfa.recovery_codes;
    draw_codes(policy.count, || cx.entropy.base32(policy.code_length))
}

async fn hash(cx: &RequestContext, codes: &[String]) -> Result<HashedCodes> {
    let hashes = passwords::hash_recovery_codes(cx, codes).await?;
    let ids = hashes.iter().map(|_| cx.entropy.uuid()).collect();
    Ok(HashedCodes { ids, hashes })
}
