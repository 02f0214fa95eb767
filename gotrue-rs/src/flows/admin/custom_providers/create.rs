//! `POST /admin/custom-providers`: everything is checked, and the discovery document looked at, before one row is written.
//! Where there is a quota it is checked once more under a lock.

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
use crate::store::{Connection, OrRefuse, custom_providers};

/// A new provider: 201.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let body = CustomProviderBody::decode(&cx.bytes().await?)?;
    check_new(&body)?;
    require_room(&cx, &mut cx.db()).await?;
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

async fn require_room(cx: &Cx, db: &mut Connection) -> Result<()> {
    let most = cx.app.policy.custom_oauth.max_providers;
    if most.is_some() {
        let count = custom_providers::count(db).await;
        check_quota(most, count.or_refuse("Error checking provider quota")?)?;
    }
    Ok(())
}

/// What the database says of a row that it refuses would show the secret: it is for the log.
async fn store(cx: &Cx, provider: &mut CustomProvider) -> Result<()> {
    let secret = sealing::seal(cx, provider.id, provider.client_secret.reveal());
    provider.client_secret = Secret::new(secret);
    let has_quota = cx.app.policy.custom_oauth.max_providers.is_some();
    let mut db = if has_quota { cx.begin().await? } else { cx.db() };
    if has_quota {
        custom_providers::lock(&mut db).await.or_refuse("Error checking provider quota")?;
        require_room(cx, &mut db).await?;
    }
    custom_providers::insert(&mut db, provider).await.map_err(|error| match error.constraint() {
        Some("custom_oauth_providers_identifier_key") => taken(),
        _ => Error::internal("Error creating custom OAuth provider").because(error),
    })?;
    Ok(db.commit().await?)
}
