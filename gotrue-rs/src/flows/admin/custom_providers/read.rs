//! `GET /admin/custom-providers/{identifier}`.

use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::custom_provider::CustomProviderJson;

use super::{found, named};
use crate::cx::Cx;
use crate::http::reply::Reply;

/// The provider of the path.
pub async fn handle(cx: Cx) -> Result<Reply> {
    Ok(Reply::json(&CustomProviderJson::from(&found(&cx, named(&cx)?).await?)))
}
