//! `POST /admin/sso/providers`: creates an SSO identity provider in two statements.
//!
//! No connection is held while its metadata is fetched.

use foundation::error::{Error, Result};
use gotrue_rules::domain::sso::creation;
use gotrue_rules::wire::requests::AdminSsoProvider;
use gotrue_rules::wire::sso::SsoProviderJson;
use http::StatusCode;
use platform::store;

use super::load_metadata;
use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::store::sso_providers;

/// The unique constraint of SAML entity ids.
const ENTITY_ID_CONSTRAINT: &str = "saml_providers_entity_id_key";

/// Creates a provider and returns it.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let body = AdminSsoProvider::decode(&cx.read_body().await?)?;
    creation::validate_body(&body)?;
    let described = load_metadata(&cx, &body).await?.unwrap_or_default();
    let domains = body.domains.as_deref().unwrap_or_default();
    let holders = sso_providers::find_holders(&mut cx.db(), Some(&described.entity_id), domains).await?;
    creation::require_unassigned(&described.entity_id, domains, &holders)?;
    let provider = creation::build_provider(cx.entropy.uuid(), body, described, cx.now);
    let stored = sso_providers::insert(&mut cx.db(), &provider, || cx.entropy.uuid()).await;
    stored.map_err(|error| insert_error(error, &provider.saml.entity_id))?;
    Ok(Reply::json(&SsoProviderJson::from(&provider)).with_status(StatusCode::CREATED))
}

/// Maps a duplicate entity id to its error; as in GoTrue any other database error is a plain 500.
fn insert_error(error: store::Error, entity_id: &str) -> Error {
    match error.constraint() {
        Some(ENTITY_ID_CONSTRAINT) => creation::entity_already_exists(entity_id).with_cause(error),
        _ => error.into(),
    }
}
