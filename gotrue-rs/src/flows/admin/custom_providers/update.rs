//! `PUT /admin/custom-providers/{identifier}`: what is named changes. Name and type stay.

use gotrue_rules::domain::custom_provider::Protocol;
use gotrue_rules::domain::custom_provider::rules::{check_sayings, not_found};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::secret::Secret;
use gotrue_rules::wire::custom_provider::CustomProviderJson;
use gotrue_rules::wire::requests::CustomProviderBody;

use super::{found, named};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::{custom_providers as providers, sealing};
use crate::store::custom_providers;

/// The provider as it is now.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let identifier = named(&cx)?;
    let body = CustomProviderBody::decode(&cx.bytes().await?)?;
    check_sayings(&body)?;
    let mut provider = found(&cx, identifier).await?;
    let before = provider.protocol.clone();
    let is_oidc = matches!(before, Protocol::Oidc { .. });
    providers::check(&cx, &Protocol::addresses(is_oidc, &body)).await?;
    let changed = provider.change(body, cx.now);
    if changed.discovery {
        providers::look_up(&cx, &mut provider).await?;
    }
    if changed.secret {
        provider.client_secret = Secret::new(sealing::seal(&cx, provider.id, provider.client_secret.reveal()));
    }
    let discovered_at = changed.discovery.then_some(cx.now);
    let stored = custom_providers::update(&mut cx.db(), &provider, discovered_at).await;
    if !stored.map_err(|error| Error::internal("Error updating custom OAuth provider").because(error))? {
        return Err(not_found());
    }
    if changed.discovery {
        providers::forget(&cx, &before);
        providers::forget(&cx, &provider.protocol);
    }
    Ok(Reply::json(&CustomProviderJson::from(&provider)))
}
