//! `PATCH /passkeys/{passkey_id}`: another name for a passkey of the signed-in account.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::passkey::{check_name, not_found};
use gotrue_rules::wire::requests::PasskeyUpdate;

use super::{body, of_caller};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::audit;
use crate::store::OrRefuse;
use crate::store::passkeys;

/// The passkey under its new name.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let passkey = of_caller(&cx)?;
    let request = PasskeyUpdate::decode(&body(&cx).await?)?;
    check_name(&request.friendly_name)?;
    let entry = Entry::of(Action::PasskeyUpdated).with("passkey_id", passkey.id.to_string());
    let rows = audit::rows(&cx, &cx.caller()?.account, [entry]);
    let renamed = passkeys::rename(&mut cx.db(), passkey, &request.friendly_name, cx.now, rows).await;
    let renamed = renamed.or_refuse("Database error updating passkey")?.ok_or_else(not_found)?;
    Ok(Reply::json(&renamed.json()))
}
