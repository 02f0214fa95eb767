//! `GET /admin/custom-providers`.

use gotrue_rules::domain::custom_provider::rules::wanted_type;
use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::custom_provider::CustomProvidersJson;

use super::super::asked;
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::{OrRefuse, custom_providers};

/// All of them, or those of a type, newest first.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let wanted = wanted_type(asked(&cx, "type"))?;
    let found = custom_providers::list(&mut cx.db(), wanted).await;
    let found = found.or_refuse("Error retrieving custom OAuth providers")?;
    Ok(Reply::json(&CustomProvidersJson::from(found.as_slice())))
}
