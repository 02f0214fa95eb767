//! `DELETE /passkeys/{passkey_id}`: deletes a passkey of the signed-in user.
//!
//! Sessions that it created stay.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::passkey::{passkey_not_found, require_aal2_for_passkeys};
use platform::store::OrInternalError;

use super::path_passkey;
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::audit;
use crate::store::passkeys;

/// Deletes the passkey; 204.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    require_aal2_for_passkeys(&caller.user, caller.session.as_ref())?;
    let passkey = path_passkey(&cx, caller.user.id)?;
    let entry = AuditEntry::new(AuditAction::PasskeyDeleted).with_trait("passkey_id", passkey.id.to_string());
    let rows = audit::build_rows(&cx, &caller.user, [entry]);
    if !passkeys::delete(&mut cx.db(), passkey, rows).await.or_internal_error("Database error deleting passkey")? {
        return Err(passkey_not_found());
    }
    Ok(Reply::no_content())
}
