//! `/admin/users/{id}/passkeys`: a user's passkeys, also while passkeys are disabled.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::passkey::{parse_id, passkey_not_found};
use gotrue_rules::domain::user::User;
use platform::store::OrInternalError;

use super::build_admin_rows;
use crate::http::reply::Reply;
use crate::request_context::{Admin, RequestContext};
use crate::store::passkeys::{self, Passkey, PasskeyRef};

/// `GET /admin/users/{id}/passkeys`: lists the passkeys, oldest first.
pub async fn list(cx: RequestContext, user: Arc<User>) -> Result<Reply> {
    let found = passkeys::list_by_user(&mut cx.db(), user.id).await;
    let found = found.or_internal_error("Database error loading passkeys")?;
    Ok(Reply::json(&found.iter().map(Passkey::to_json).collect::<Vec<_>>()))
}

/// `DELETE /admin/users/{id}/passkeys/{passkey_id}`: deletes a passkey; 204.
pub async fn delete(cx: RequestContext, admin: Arc<Admin>, user: Arc<User>) -> Result<Reply> {
    let user_id = user.id;
    let id = parse_id(cx.request.path_param("passkey_id").unwrap_or_default())?;
    let entry = AuditEntry::new(AuditAction::PasskeyDeleted)
        .with_trait("user_id", user_id.to_string())
        .with_trait("passkey_id", id.to_string());
    let rows = build_admin_rows(&cx, &admin, entry);
    let deleted = passkeys::delete(&mut cx.db(), PasskeyRef { id, user_id }, rows).await;
    if !deleted.or_internal_error("Database error deleting passkey")? {
        return Err(passkey_not_found());
    }
    Ok(Reply::no_content())
}
