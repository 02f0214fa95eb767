//! `POST /admin/custom-providers`: everything is checked, and the discovery document looked at, before one row is written.

use gotrue_rules::domain::custom_provider::rules::{built, check_new, check_quota, taken};
use gotrue_rules::domain::custom_provider::{CustomProvider, Protocol};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::secret::Secret;
use gotrue_rules::wire::custom_provider::CustomProviderJson;
use gotrue_rules::wire::requests::CustomProviderBody;
use http::StatusCode;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::{custom_providers as providers, sealing};
use crate::store::{OrRefuse, custom_providers};

/// A new provider: 201.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let body = CustomProviderBody::decode(&cx.bytes().await?)?;
    check_new(&body)?;
    let most = cx.app.policy.custom_oauth.max_providers;
    if most.is_some() {
        let count = custom_providers::count(&mut cx.db()).await;
        check_quota(most, count.or_refuse("Error checking provider quota")?)?;
    }
    providers::check(&cx, &Protocol::addresses(body.provider_type == "oidc", &body)).await?;
    let found = custom_providers::by_identifier(&mut cx.db(), &body.identifier).await;
    if found.or_refuse("Error checking for existing provider")?.is_some() {
        return Err(taken());
    }
    let mut provider = built(body, cx.entropy.uuid(), cx.now);
    providers::look_up(&cx, &mut provider).await?;
    store(&cx, &mut provider).await?;
    providers::forget(&cx, &provider.protocol);
    Ok(Reply::json(&CustomProviderJson::from(&provider)).with_status(StatusCode::CREATED))
}

/// What the database says of a row that it refuses would show the secret: it is for the log.
async fn store(cx: &Cx, provider: &mut CustomProvider) -> Result<()> {
    let secret = sealing::seal(cx, provider.id, provider.client_secret.reveal());
    provider.client_secret = Secret::new(secret);
    custom_providers::insert(&mut cx.db(), provider).await.map_err(|error| match error.constraint() {
        Some("custom_oauth_providers_identifier_key") => taken(),
        _ => Error::internal("Error creating custom OAuth provider").because(error),
    })
}
