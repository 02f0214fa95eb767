//! `GET /admin/sso/providers`: all of them, or those of a resource id or of a pattern of resource ids.

use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::sso::SsoProvidersJson;

use super::super::asked;
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::sso_providers::{self, Filter};

/// As recorded the beginning of a resource id is a pattern: `%` and `_` in it stand for anything.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let given = |name| Some(asked(&cx, name)).filter(|text| !text.is_empty());
    let resource_id = given("resource_id");
    let pattern = given("resource_id_prefix").filter(|_| resource_id.is_none()).map(|prefix| format!("{prefix}%"));
    let filter = Filter { resource_id, pattern: pattern.as_deref() };
    let found = sso_providers::list(&mut cx.db(), filter).await?;
    Ok(Reply::json(&SsoProvidersJson::from(found.as_slice())))
}
