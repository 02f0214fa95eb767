//! `GET /admin/sso/providers/{idp_id}`.

use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::sso::SsoProviderJson;

use crate::cx::Cx;
use crate::http::reply::Reply;

/// What the guard has read.
pub async fn handle(cx: Cx) -> Result<Reply> {
    Ok(Reply::json(&SsoProviderJson::from(cx.sso_provider()?)))
}
