//! `DELETE /admin/users/{id}/factors/{factor_id}`: deletes a factor of a user.

use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::mfa::{FactorType, factor_not_found};
use gotrue_rules::wire::factor::FactorJson;
use uuid::Uuid;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::audit;
use crate::store::{OrInternalError, elevation, factors};

/// Deletes the factor and returns it.
///
/// Sessions that it raised fall back to `aal1`; the user is not notified.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let (account, factor) = (cx.account()?, cx.factor()?);
    let kind = FactorType::parse(&factor.factor_type)?;
    let entry = AuditEntry::new(AuditAction::FactorDeleted)
        .with_trait("user_id", account.id.to_string())
        .with_trait("factor_id", factor.id.to_string());
    let audit = audit::build_rows(&cx, account, [entry]);
    let mut db = cx.begin().await?;
    elevation::lock_sessions(&mut db, account.id, Uuid::nil()).await?;
    let deleted = factors::delete(&mut db, account.id, factor.id, kind, audit).await;
    let is_gone = deleted.or_internal_error("Database error deleting factor")?;
    db.commit().await?;
    if !is_gone {
        return Err(factor_not_found());
    }
    Ok(Reply::json(&FactorJson::from(factor)))
}
