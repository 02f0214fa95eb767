//! `GET /admin/sso/providers`: lists providers, optionally by resource id or its prefix.

use foundation::error::Result;
use gotrue_rules::wire::sso::SsoProvidersJson;

use super::super::query_parameter;
use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::store::sso_providers::{self, SsoProviderFilter};

/// Lists providers. As in GoTrue, `%` and `_` in `resource_id_prefix` are wildcards.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let parameter = |name| Some(query_parameter(&cx, name)).filter(|text| !text.is_empty());
    let resource_id = parameter("resource_id");
    let pattern = parameter("resource_id_prefix").filter(|_| resource_id.is_none()).map(|prefix| format!("{prefix}%"));
    let filter = SsoProviderFilter { resource_id, pattern: pattern.as_deref() };
    let found = cx.read_stale(|mut db| async move { sso_providers::list(&mut db, filter).await }).await?;
    Ok(Reply::json(&SsoProvidersJson::from(found.as_slice())))
}
