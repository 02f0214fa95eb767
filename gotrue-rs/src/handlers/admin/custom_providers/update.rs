//! `PUT /admin/custom-providers/{identifier}`: updates the given members.
//!
//! Identifier and type cannot change.

use foundation::error::{Error, Result};
use foundation::secret::Secret;
use gotrue_rules::domain::custom_provider::Protocol;
use gotrue_rules::domain::custom_provider::rules::{provider_not_found, validate_shared_members};
use gotrue_rules::wire::custom_provider::CustomProviderJson;
use gotrue_rules::wire::requests::CustomProviderBody;

use super::{load_provider, path_identifier};
use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::{custom_providers as providers, sealing};
use crate::store::custom_providers;

/// Updates the provider and returns it.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let identifier = path_identifier(&cx)?;
    let body = CustomProviderBody::decode(&cx.read_body().await?)?;
    validate_shared_members(&body)?;
    let mut provider = load_provider(&cx, identifier).await?;
    let before = provider.protocol.clone();
    let is_oidc = matches!(before, Protocol::Oidc { .. });
    providers::require_public_urls(&cx, &Protocol::urls(is_oidc, &body)).await?;
    let changed = provider.apply(body, cx.now);
    if changed.is_discovery_stale {
        providers::load_discovery(&cx, &mut provider).await?;
    }
    if changed.is_secret_changed {
        provider.client_secret = Secret::new(sealing::seal(&cx, provider.id, provider.client_secret.reveal()));
    }
    let discovered_at = changed.is_discovery_stale.then_some(cx.now);
    let stored = custom_providers::update(&mut cx.db(), &provider, discovered_at).await;
    if !stored.map_err(|error| Error::internal("Error updating custom OAuth provider").with_cause(error))? {
        return Err(provider_not_found());
    }
    if changed.is_discovery_stale {
        providers::evict_discovery(&cx, &before);
        providers::evict_discovery(&cx, &provider.protocol);
    }
    Ok(Reply::json(&CustomProviderJson::from(&provider)))
}
