//! `POST /admin/custom-providers`: creates a provider.
//!
//! The request is validated and the discovery document loaded before one row is inserted.
//!
//! A quota is checked again under a lock.

use foundation::error::{Error, Result};
use foundation::secret::Secret;
use gotrue_rules::domain::custom_provider::rules::{build_provider, check_quota, identifier_taken, validate_new};
use gotrue_rules::domain::custom_provider::{CustomProvider, Protocol};
use gotrue_rules::wire::custom_provider::CustomProviderJson;
use gotrue_rules::wire::requests::CustomProviderBody;
use http::StatusCode;
use platform::store::{Connection, OrInternalError};

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::{custom_providers as providers, sealing};
use crate::store::custom_providers;

/// Creates a provider; 201.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let body = CustomProviderBody::decode(&cx.read_body().await?)?;
    validate_new(&body)?;
    require_quota(&cx, &mut cx.db()).await?;
    providers::require_public_urls(&cx, &Protocol::urls(body.provider_type == "oidc", &body)).await?;
    let found = custom_providers::find_by_identifier(&mut cx.db(), &body.identifier).await;
    if found.or_internal_error("Error checking for existing provider")?.is_some() {
        return Err(identifier_taken());
    }
    let mut provider = build_provider(body, cx.entropy.uuid(), cx.now);
    providers::load_discovery(&cx, &mut provider).await?;
    insert_provider(&cx, &mut provider).await?;
    providers::evict_discovery(&cx, &provider.protocol);
    Ok(Reply::json(&CustomProviderJson::from(&provider)).with_status(StatusCode::CREATED))
}

async fn require_quota(cx: &RequestContext, db: &mut Connection) -> Result<()> {
    let most = cx.app.policy.custom_oauth.max_providers;
    if most.is_some() {
        let count = custom_providers::count(db).await;
        check_quota(most, count.or_internal_error("Error checking provider quota")?)?;
    }
    Ok(())
}

/// Database errors may quote the secret, so they are only logged.
async fn insert_provider(cx: &RequestContext, provider: &mut CustomProvider) -> Result<()> {
    let secret = sealing::seal(cx, provider.id, provider.client_secret.reveal());
    provider.client_secret = Secret::new(secret);
    let has_quota = cx.app.policy.custom_oauth.max_providers.is_some();
    let mut db = if has_quota { cx.begin().await? } else { cx.db() };
    if has_quota {
        custom_providers::lock(&mut db).await.or_internal_error("Error checking provider quota")?;
        require_quota(cx, &mut db).await?;
    }
    custom_providers::insert(&mut db, provider).await.map_err(|error| match error.constraint() {
        Some("custom_oauth_providers_identifier_key") => identifier_taken(),
        _ => Error::internal("Error creating custom OAuth provider").with_cause(error),
    })?;
    Ok(db.commit().await?)
}
