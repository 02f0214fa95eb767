//! `GET /authorize`: redirects to the provider that the query names.

use foundation::error::Result;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::external;

/// Redirects the browser.
///
/// As in GoTrue, if an OAuth 1.0a provider refuses, the browser is redirected to `/`.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let address = external::start_authorization(&cx, None).await?;
    Ok(Reply::found(address.as_deref().unwrap_or("/")))
}
