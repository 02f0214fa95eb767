//! `DELETE /admin/custom-providers/{identifier}`: accounts that came by it stay.

use gotrue_rules::domain::custom_provider::rules::not_found;
use gotrue_rules::domain::error::Result;

use super::named;
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::custom_providers as providers;
use crate::store::{OrRefuse, custom_providers};

/// 204.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let gone = custom_providers::delete(&mut cx.db(), named(&cx)?).await;
    let gone = gone.or_refuse("Error deleting custom OAuth provider")?.ok_or_else(not_found)?;
    providers::forget(&cx, &gone.protocol);
    Ok(Reply::no_content())
}
