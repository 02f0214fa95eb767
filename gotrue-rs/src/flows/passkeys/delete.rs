//! `DELETE /passkeys/{passkey_id}`: a passkey of the signed-in account is no more. Sessions that it opened stay.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::passkey::{may_manage, not_found};

use super::of_caller;
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::audit;
use crate::store::OrRefuse;
use crate::store::passkeys;

/// 204.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let caller = cx.caller()?;
    may_manage(&caller.account, caller.session.as_ref())?;
    let passkey = of_caller(&cx)?;
    let entry = Entry::of(Action::PasskeyDeleted).with("passkey_id", passkey.id.to_string());
    let rows = audit::rows(&cx, &caller.account, [entry]);
    if !passkeys::delete(&mut cx.db(), passkey, rows).await.or_refuse("Database error deleting passkey")? {
        return Err(not_found());
    }
    Ok(Reply::no_content())
}
