//! `PATCH /passkeys/{passkey_id}`: renames a passkey of the signed-in user.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::passkey::{passkey_not_found, validate_name};
use gotrue_rules::wire::requests::PasskeyUpdate;
use platform::store::OrInternalError;

use super::{path_passkey, read_body};
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::audit;
use crate::store::passkeys;

/// Renames the passkey and returns it.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let passkey = path_passkey(&cx, caller.user.id)?;
    let request = PasskeyUpdate::decode(&read_body(&cx).await?)?;
    validate_name(&request.friendly_name)?;
    let entry = AuditEntry::new(AuditAction::PasskeyUpdated).with_trait("passkey_id", passkey.id.to_string());
    let rows = audit::build_rows(&cx, &caller.user, [entry]);
    let renamed = passkeys::rename(&mut cx.db(), passkey, &request.friendly_name, cx.now, rows).await;
    let renamed = renamed.or_internal_error("Database error updating passkey")?.ok_or_else(passkey_not_found)?;
    Ok(Reply::json(&renamed.to_json()))
}
