//! `GET /oauth/userinfo`: the claims that the session's scopes grant (`OpenID` Connect Core §5.3).
//!
//! One statement, the guard's.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::oauth_server::claims::build_userinfo;

use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};

/// Returns the claims; only `sub` for a session without an OAuth client.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let scopes = caller.session.as_ref().and_then(|session| session.scopes.as_deref());
    let are_limited = cx.app.policy.oauth_server.are_claims_limited_by_scopes;
    Ok(Reply::json(&build_userinfo(&caller.user, scopes.unwrap_or_default(), are_limited)))
}
