//! `GET /user/identities/authorize`: to a provider, to add an identity there to the caller's account.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::linking::by_hand::may_manage;
use gotrue_rules::wire::external::AddressJson;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::external;

/// Sends the browser on, or tells a script the address. As recorded, where a provider would not have it, it is sent to
/// this folder.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let caller = cx.caller()?;
    if cx.app.policy.mfa.linking_needs_aal2 {
        may_manage(&caller.account, caller.session.as_ref())?;
    }
    let address = external::start(&cx, Some(caller.account.id)).await?;
    if cx.request.query("skip_http_redirect") == Some("true") {
        return Ok(Reply::json(&AddressJson { url: address.as_deref().unwrap_or_default() }));
    }
    Ok(Reply::found(address.as_deref().unwrap_or("/user/identities/")))
}
