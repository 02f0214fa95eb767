//! `GET /admin/custom-providers/{identifier}`.

use foundation::error::Result;
use gotrue_rules::wire::custom_provider::CustomProviderJson;

use super::{load_provider, path_identifier};
use crate::http::reply::Reply;
use crate::request_context::RequestContext;

/// Returns the provider named in the path.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    Ok(Reply::json(&CustomProviderJson::from(&load_provider(&cx, path_identifier(&cx)?).await?)))
}
