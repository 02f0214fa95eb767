//! `PUT /admin/sso/providers/{idp_id}`: updates a provider.
//!
//! It takes at most three statements: the guard's, the look-up of the domains, and the write.
//!
//! No connection is held while metadata is fetched.

use std::sync::Arc;

use foundation::error::{Error, Result, WrappingError};
use gotrue_rules::domain::sso::change::{self, SsoProviderChange, apply_update, conflict};
use gotrue_rules::domain::sso::creation::NameOwner;
use gotrue_rules::domain::sso::{SsoProvider, provider_not_found};
use gotrue_rules::wire::requests::AdminSsoProvider;
use gotrue_rules::wire::sso::SsoProviderJson;
use platform::store;

use super::load_metadata;
use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::store::sso_providers::{self, SsoProviderUpdate};

/// The unique index of resource ids, case-insensitive.
const RESOURCE_ID_INDEX: &str = "sso_providers_resource_id_idx";

/// Updates the provider and returns it; returns it unchanged if there is no change.
pub async fn handle(cx: RequestContext, provider: Arc<SsoProvider>) -> Result<Reply> {
    let body = AdminSsoProvider::decode(&cx.read_body().await?)?;
    change::validate_body(&body)?;
    let described = load_metadata(&cx, &body).await?;
    if let Some(described) = &described {
        change::require_same_entity(&provider, described)?;
    }
    let holders = load_domain_holders(&cx, &body).await?;
    let Some(change) = apply_update(&provider, &body, described, &holders, cx.now)? else {
        return Ok(Reply::json(&SsoProviderJson::from(&*provider)));
    };
    write_change(&cx, &change).await?;
    Ok(Reply::json(&SsoProviderJson::from(&change.after)))
}

async fn load_domain_holders(cx: &RequestContext, body: &AdminSsoProvider) -> Result<Vec<NameOwner>> {
    match body.domains.as_deref() {
        None | Some([]) => Ok(Vec::new()),
        Some(domains) => Ok(sso_providers::find_holders(&mut cx.db(), None, domains).await?),
    }
}

async fn write_change(cx: &RequestContext, change: &SsoProviderChange) -> Result<()> {
    let new: Vec<_> = change.added_domains.iter().map(|domain| (cx.entropy.uuid(), domain.clone())).collect();
    let update = SsoProviderUpdate {
        provider: &change.after,
        should_write_saml: change.writes_saml,
        removed_domains: &change.removed_domains,
        added_domains: &new,
    };
    if sso_providers::update(&mut cx.db(), update).await.map_err(update_error)? {
        return Ok(());
    }
    Err(provider_not_found())
}

/// The error of a failed update.
///
/// As in GoTrue, only a taken resource id shows the database's text, and only in the legacy API version.
fn update_error(error: store::Error) -> Error {
    let conflict = conflict();
    match error.constraint() {
        Some(RESOURCE_ID_INDEX) => {
            let wrapped_as = Some(WrappingError { status: conflict.status(), code: conflict.code() });
            Error { wrapped_as, ..error.into_internal_error(conflict.message().to_owned()) }
        }
        _ => conflict.with_cause(error),
    }
}
