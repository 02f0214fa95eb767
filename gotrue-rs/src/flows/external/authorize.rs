//! `GET /authorize`: to the provider that the query names.

use gotrue_rules::domain::error::Result;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::external;

/// Sends the browser on. As recorded, where a provider would not have it, it is sent to this folder.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let address = external::start(&cx, None).await?;
    Ok(Reply::found(address.as_deref().unwrap_or("/")))
}
