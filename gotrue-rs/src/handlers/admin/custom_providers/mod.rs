//! `/admin/custom-providers`: providers that administrators store at run time.

pub mod create;
pub mod delete;
pub mod list;
pub mod read;
pub mod update;

use foundation::error::Result;
use gotrue_rules::domain::custom_provider::CustomProvider;
use gotrue_rules::domain::custom_provider::rules::{provider_not_found, validate_identifier};
use platform::store::OrInternalError;

use crate::request_context::RequestContext;
use crate::store::custom_providers;

/// The identifier in the path, in its own case; 400 unless it has the prefix of custom providers.
fn path_identifier(cx: &RequestContext) -> Result<&str> {
    let identifier = cx.request.path_param("identifier").unwrap_or_default();
    validate_identifier(identifier).map(|()| identifier)
}

/// Loads the provider of this identifier; 404 if there is none.
async fn load_provider(cx: &RequestContext, identifier: &str) -> Result<CustomProvider> {
    let found = custom_providers::find_by_identifier(&mut cx.db(), identifier).await;
    found.or_internal_error("Error retrieving custom OAuth provider")?.ok_or_else(provider_not_found)
}
