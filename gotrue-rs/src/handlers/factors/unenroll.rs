//! `DELETE /factors/{id}`: deletes a factor. Sessions that it raised fall back to `aal1`.

use std::sync::Arc;

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::mfa::recovery_codes::{last_other_factor, usable_other_types};
use gotrue_rules::domain::mfa::{factor_not_found, stored_amr_method, validate_removal};
use gotrue_rules::wire::factor::UnenrolledJson;

use crate::http::reply::Reply;
use crate::request_context::{Caller, CallerFactor, RequestContext};
use crate::services::{audit, notices};
use crate::store::elevation;
use crate::store::factors::{self, FactorRemoval, RemovedFactor};

/// Deletes the factor and returns its id. The lock makes a concurrently raised session fall back too.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>, factor: Arc<CallerFactor>) -> Result<Reply> {
    let CallerFactor(factor) = &*factor;
    let missing = || Error::internal("A valid session and factor are required to unenroll a factor");
    let session = caller.session.as_ref().ok_or_else(missing)?;
    validate_removal(factor, session)?;
    let entry = AuditEntry::new(AuditAction::FactorUnenrolled)
        .with_trait("factor_id", factor.id.to_string())
        .with_trait("factor_status", factor.status.as_str())
        .with_trait("session_id", session.id.to_string());
    let audit = audit::build_rows(&cx, &caller.user, [entry]);
    let mut db = cx.begin().await?;
    elevation::lock_sessions(&mut db, caller.user.id, session.id).await?;
    let removed = RemovedFactor {
        id: factor.id,
        user_id: caller.user.id,
        amr_method: &stored_amr_method(&factor.factor_type),
        kept: Some(usable_other_types(&cx.app.policy.mfa)),
    };
    let outcome = factors::delete(&mut db, removed, audit).await?;
    db.commit().await?;
    match outcome {
        FactorRemoval::Deleted => {}
        FactorRemoval::NotFound => return Err(factor_not_found()),
        FactorRemoval::LastUsable => return Err(last_other_factor()),
    }
    let event = notices::FactorEvent::Unenrolled;
    notices::send_factor_changed(&cx, &caller.user, event, &factor.factor_type).await;
    Ok(Reply::json(&UnenrolledJson { id: factor.id }))
}
