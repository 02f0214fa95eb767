//! `DELETE /factors/{id}`: deletes a factor. Sessions that it raised fall back to `aal1`.

use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::mfa::{FactorType, factor_not_found, validate_removal};
use gotrue_rules::wire::factor::UnenrolledJson;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::{audit, notices};
use crate::store::{elevation, factors};

/// Deletes the factor and returns its id. The lock makes a concurrently raised session fall back too.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let (caller, factor) = (cx.caller()?, cx.factor()?);
    let missing = || Error::internal("A valid session and factor are required to unenroll a factor");
    let session = caller.session.as_ref().ok_or_else(missing)?;
    validate_removal(factor, session)?;
    let kind = FactorType::parse(&factor.factor_type)?;
    let entry = AuditEntry::new(AuditAction::FactorUnenrolled)
        .with_trait("factor_id", factor.id.to_string())
        .with_trait("factor_status", factor.status.as_str())
        .with_trait("session_id", session.id.to_string());
    let audit = audit::build_rows(&cx, &caller.account, [entry]);
    let mut db = cx.begin().await?;
    elevation::lock_sessions(&mut db, caller.account.id, session.id).await?;
    let is_gone = factors::delete(&mut db, caller.account.id, factor.id, kind, audit).await?;
    db.commit().await?;
    if !is_gone {
        return Err(factor_not_found());
    }
    notices::send_factor_changed(&cx, &caller.account, notices::FactorEvent::Unenrolled, kind).await;
    Ok(Reply::json(&UnenrolledJson { id: factor.id }))
}
