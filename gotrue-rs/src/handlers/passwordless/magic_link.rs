//! `POST /magiclink`: sends a magic link. Disabled features are reported before the body is read.

use foundation::error::Result;
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::passwordless::require_magic_links;
use gotrue_rules::wire::message::MessageSentJson;
use gotrue_rules::wire::requests::MagicLinkRequest;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::passwordless::send_magic_link;

/// Sends a link and a code to the address; an unknown user is signed up.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    require_magic_links(&cx.app.policy)?;
    let (body, is_cut) = cx.read_body_prefix().await?;
    let request = MagicLinkRequest::decode(&body, is_cut)?;
    metadata::validate("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    send_magic_link(&cx, request, None).await?;
    Ok(Reply::json(&MessageSentJson::default()))
}
