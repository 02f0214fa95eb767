//! `DELETE /admin/users/{id}/factors/{factor_id}`: deletes a factor of a user.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::mfa::{factor_not_found, stored_amr_method};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::factor::FactorJson;
use platform::store::OrInternalError;
use uuid::Uuid;

use crate::http::reply::Reply;
use crate::request_context::{RequestContext, UserFactor};
use crate::services::audit;
use crate::store::elevation;
use crate::store::factors::{self, FactorRemoval, RemovedFactor};

/// Deletes the factor and returns it.
///
/// Sessions that it raised fall back to `aal1`; the user is not notified. As in the reference, recovery codes may stay
/// without another factor.
pub async fn handle(cx: RequestContext, user: Arc<User>, factor: Arc<UserFactor>) -> Result<Reply> {
    let UserFactor(factor) = &*factor;
    let entry = AuditEntry::new(AuditAction::FactorDeleted)
        .with_trait("user_id", user.id.to_string())
        .with_trait("factor_id", factor.id.to_string());
    let audit = audit::build_rows(&cx, &user, [entry]);
    let mut db = cx.begin().await?;
    elevation::lock_sessions(&mut db, user.id, Uuid::nil()).await?;
    let removed = RemovedFactor {
        id: factor.id,
        user_id: user.id,
        amr_method: &stored_amr_method(&factor.factor_type),
        kept: None,
    };
    let outcome = factors::delete(&mut db, removed, audit).await.or_internal_error("Database error deleting factor")?;
    db.commit().await?;
    if outcome != FactorRemoval::Deleted {
        return Err(factor_not_found());
    }
    Ok(Reply::json(&FactorJson::from(factor)))
}
