//! `GET /admin/sso/providers/{idp_id}`.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::wire::sso::SsoProviderJson;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;

/// Returns the provider named in the path.
pub async fn handle(_: RequestContext, provider: Arc<SsoProvider>) -> Result<Reply> {
    Ok(Reply::json(&SsoProviderJson::from(&*provider)))
}
