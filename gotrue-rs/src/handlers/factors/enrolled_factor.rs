//! The factor that a request of any type enrolls: its name is checked, and it is stored.

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::contact::Phone;
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::enrollment::{self, name_conflict, validate_enrollment};

use crate::request_context::{Caller, RequestContext};
use crate::services::audit;
use crate::services::sessions::elevate::require_session;
use crate::store::factors::{self, FactorInsertion, FactorLimits, NewFactor};
use crate::store::users;

/// Deletes expired unverified factors and checks that another factor of this name is allowed.
///
/// The deletion stays whatever follows.
pub(super) async fn prepare_enrollment(
    cx: &RequestContext,
    caller: &Caller,
    name: &str,
    phone: Option<&Phone>,
) -> Result<()> {
    let (user, policy) = (&caller.user, &cx.app.policy.mfa);
    let leftovers = enrollment::find_replaced_factors(user, phone, policy, cx.now)?;
    let deleted = if leftovers.may_exist {
        factors::delete_replaced(&mut cx.db(), user.id, leftovers).await?
    } else {
        Vec::new()
    };
    let kept = user.factors.iter().filter(|factor| !deleted.contains(&factor.id));
    validate_enrollment(kept, name, require_session(caller)?, policy)
}

/// Stores the factor within the limits, which are checked again under a lock.
///
/// A factor that a concurrent request enrolled since the first check leads to the same errors.
pub(super) async fn store_factor(cx: &RequestContext, caller: &Caller, new: NewFactor<'_>) -> Result<()> {
    let mut entry = AuditEntry::new(AuditAction::FactorInProgress).with_trait("factor_id", new.id.to_string());
    if new.factor_type != FactorType::Totp {
        entry = entry.with_trait("factor_type", new.factor_type.as_str());
    }
    let (name, session, policy) = (new.friendly_name, require_session(caller)?, &cx.app.policy.mfa);
    let audit = audit::build_rows(cx, &caller.user, [entry]);
    let limits = FactorLimits {
        enrolled: policy.max_enrolled_factors,
        verified: session.is_elevated().then_some(policy.max_verified_factors),
    };
    let mut db = cx.begin().await?;
    let inserted = factors::insert(&mut db, new, limits, audit).await?;
    if inserted == FactorInsertion::Written {
        return Ok(db.commit().await?);
    }
    db.rollback().await?;
    let retry = |message| Error::new(ErrorCode::Conflict, message);
    match inserted {
        FactorInsertion::NameTaken => Err(name_conflict(name)),
        FactorInsertion::PhoneTaken => Err(retry("This number is being enrolled already, please try again")),
        FactorInsertion::LimitReached | FactorInsertion::Written => {
            let current = users::find_with_session(&mut cx.db(), caller.user.id, None).await?;
            validate_enrollment(current.iter().flat_map(|current| &current.user.factors), name, session, policy)?;
            Err(retry("Factors of this user are being changed, please try again"))
        }
    }
}
