//! `DELETE /admin/users/{id}`: two statements, the guard's and the deletion.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::audit::AuditAction;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::requests::AdminUserDeletion;
use platform::store::OrInternalError;
use serde_json::Map;

use super::{build_admin_rows, user_entry};
use crate::http::reply::Reply;
use crate::request_context::{Admin, RequestContext};
use crate::store::admin::deletion::{delete, soft_delete};

/// Deletes the user, or anonymizes it for a soft deletion.
pub async fn handle(cx: RequestContext, admin: Arc<Admin>, user: Arc<User>) -> Result<Reply> {
    let request = AdminUserDeletion::decode(&cx.read_body().await?)?;
    let rows = build_admin_rows(&cx, &admin, user_entry(AuditAction::UserDeleted, &user));
    if request.is_soft {
        soft_delete(&mut cx.db(), user.id, cx.now, rows).await.or_internal_error("Error soft deleting user")?;
    } else {
        delete(&mut cx.db(), user.id, rows).await.or_internal_error("Database error deleting user")?;
    }
    Ok(Reply::json(&Map::new()))
}
