//! `GET /admin/custom-providers`.

use foundation::error::Result;
use gotrue_rules::domain::custom_provider::rules::parse_type_filter;
use gotrue_rules::wire::custom_provider::CustomProvidersJson;
use platform::store::OrInternalError;

use super::super::query_parameter;
use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::store::custom_providers;

/// Lists all providers, or those of a type, newest first.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let wanted = parse_type_filter(query_parameter(&cx, "type"))?;
    let found = cx.read_stale(|mut db| async move { custom_providers::list(&mut db, wanted).await }).await;
    let found = found.or_internal_error("Error retrieving custom OAuth providers")?;
    Ok(Reply::json(&CustomProvidersJson::from(found.as_slice())))
}
