//! Providers that the administrator stores at run time, below `/admin/custom-providers`.

pub mod create;
pub mod delete;
pub mod list;
pub mod read;
pub mod update;

use gotrue_rules::domain::custom_provider::CustomProvider;
use gotrue_rules::domain::custom_provider::rules::{check_identifier, not_found};
use gotrue_rules::domain::error::Result;

use crate::cx::Cx;
use crate::store::{OrRefuse, custom_providers};

/// The name in the path, in its own letters: 400 unless it begins as stored providers' do.
fn named(cx: &Cx) -> Result<&str> {
    let identifier = cx.request.param("identifier").unwrap_or_default();
    check_identifier(identifier).map(|()| identifier)
}

/// The provider of that name, or 404.
async fn found(cx: &Cx, identifier: &str) -> Result<CustomProvider> {
    let found = custom_providers::by_identifier(&mut cx.db(), identifier).await;
    found.or_refuse("Error retrieving custom OAuth provider")?.ok_or_else(not_found)
}
