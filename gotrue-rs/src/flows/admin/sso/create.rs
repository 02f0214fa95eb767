//! `POST /admin/sso/providers`: a company's identity provider. Two statements; nothing is held while its description is
//! fetched.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::sso::draft;
use gotrue_rules::wire::requests::AdminSsoProvider;
use gotrue_rules::wire::sso::SsoProviderJson;
use http::StatusCode;

use super::described;
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::{self, sso_providers};

/// Unique among all of them.
const ENTITY_UNIQUE: &str = "saml_providers_entity_id_key";

/// The provider that was made.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let body = AdminSsoProvider::decode(&cx.bytes().await?)?;
    draft::check(&body)?;
    let described = described(&cx, &body).await?.unwrap_or_default();
    let domains = body.domains.as_deref().unwrap_or_default();
    let holders = sso_providers::holders(&mut cx.db(), Some(&described.entity_id), domains).await?;
    draft::require_free(&described.entity_id, domains, &holders)?;
    let provider = draft::provider(cx.entropy.uuid(), body, described, cx.now);
    let stored = sso_providers::insert(&mut cx.db(), &provider, || cx.entropy.uuid()).await;
    stored.map_err(|error| refused(error, &provider.saml.entity_id))?;
    Ok(Reply::json(&SsoProviderJson::from(&provider)).with_status(StatusCode::CREATED))
}

/// Somebody else was faster with the same entity; whatever else the database refuses is as recorded a plain 500.
fn refused(error: store::Error, entity_id: &str) -> Error {
    match error.constraint() {
        Some(ENTITY_UNIQUE) => draft::entity_taken(entity_id).because(error),
        _ => error.into(),
    }
}
