//! `GET /oauth/userinfo`: what the session's scopes allow a client to know (`OpenID` Connect Core §5.3). One statement,
//! the guard's.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::oauth_server::claims::userinfo;

use crate::cx::Cx;
use crate::http::reply::Reply;

/// The claims; of a session that is no client's the id alone.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let caller = cx.caller()?;
    let scopes = caller.session.as_ref().and_then(|session| session.scopes.as_deref());
    Ok(Reply::json(&userinfo(&caller.account, scopes.unwrap_or_default())))
}
