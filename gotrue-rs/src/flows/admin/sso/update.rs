//! `PUT /admin/sso/providers/{idp_id}`: three statements at most, the guard's, who has the domains, and the write. Nothing
//! is held while a description is fetched.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::sso::change::{self, Change, change, conflict};
use gotrue_rules::domain::sso::draft::Holder;
use gotrue_rules::domain::sso::not_found;
use gotrue_rules::wire::requests::AdminSsoProvider;
use gotrue_rules::wire::sso::SsoProviderJson;

use super::described;
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store;
use crate::store::sso_providers::{self, Update};

/// Unique among all of them, letter case aside.
const RESOURCE_ID_UNIQUE: &str = "sso_providers_resource_id_idx";

/// The provider, changed; as it is if nothing was.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let provider = cx.sso_provider()?;
    let body = AdminSsoProvider::decode(&cx.bytes().await?)?;
    change::check(&body)?;
    let described = described(&cx, &body).await?;
    if let Some(described) = &described {
        change::require_same_entity(provider, described)?;
    }
    let holders = holders(&cx, &body).await?;
    let Some(change) = change(provider, &body, described, &holders, cx.now)? else {
        return Ok(Reply::json(&SsoProviderJson::from(provider)));
    };
    write(&cx, &change).await?;
    Ok(Reply::json(&SsoProviderJson::from(&change.after)))
}

async fn holders(cx: &Cx, body: &AdminSsoProvider) -> Result<Vec<Holder>> {
    match body.domains.as_deref() {
        None | Some([]) => Ok(Vec::new()),
        Some(domains) => Ok(sso_providers::holders(&mut cx.db(), None, domains).await?),
    }
}

async fn write(cx: &Cx, change: &Change) -> Result<()> {
    let new: Vec<_> = change.new.iter().map(|domain| (cx.entropy.uuid(), domain.clone())).collect();
    let update = Update { provider: &change.after, saml: change.saml, gone: &change.gone, new: &new };
    if sso_providers::update(&mut cx.db(), update).await.map_err(refused)? {
        return Ok(());
    }
    Err(not_found())
}

/// As recorded only a taken resource id shows what the database said, and there only the legacy API version.
fn refused(error: store::Error) -> Error {
    let conflict = conflict();
    match error.constraint() {
        Some(RESOURCE_ID_UNIQUE) => {
            let wrapped_as = Some((conflict.status(), "conflict"));
            Error { wrapped_as, ..error.wrapped(conflict.message().to_owned()) }
        }
        _ => conflict.because(error),
    }
}
