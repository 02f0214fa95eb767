//! `GET /user/identities/authorize`: redirects to a provider to link an identity.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::linking::manual::require_aal2_for_linking;
use gotrue_rules::wire::external::UrlJson;

use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::external;

/// Redirects the browser, or returns the URL to a script.
///
/// As in GoTrue, if an OAuth 1.0a provider refuses, the browser is redirected to `/user/identities/`.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    require_aal2_for_linking(&caller.user, caller.session.as_ref(), &cx.app.policy.mfa)?;
    let address = external::start_authorization(&cx, Some(caller.user.id)).await?;
    if cx.request.query("skip_http_redirect") == Some("true") {
        return Ok(Reply::json(&UrlJson { url: address.as_deref().unwrap_or_default() }));
    }
    Ok(Reply::found(address.as_deref().unwrap_or("/user/identities/")))
}
