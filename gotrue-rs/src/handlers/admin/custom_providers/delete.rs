//! `DELETE /admin/custom-providers/{identifier}`: deletes a provider. Its users stay.

use foundation::error::Result;
use gotrue_rules::domain::custom_provider::rules::provider_not_found;
use platform::store::OrInternalError;

use super::path_identifier;
use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::custom_providers as providers;
use crate::store::custom_providers;

/// Deletes the provider; 204.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let deleted = custom_providers::delete(&mut cx.db(), path_identifier(&cx)?).await;
    let deleted = deleted.or_internal_error("Error deleting custom OAuth provider")?.ok_or_else(provider_not_found)?;
    providers::evict_discovery(&cx, &deleted.protocol);
    Ok(Reply::no_content())
}
