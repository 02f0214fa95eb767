//! `POST /magiclink`: a link to sign in, by mail. The switches are told before the body is read.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::passwordless::require_magic_links;
use gotrue_rules::wire::message::SentJson;
use gotrue_rules::wire::requests::MagicLink;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::passwordless::mail_link;

/// Mails a link and a code to that address; whoever is new is signed up.
pub async fn handle(cx: Cx) -> Result<Reply> {
    require_magic_links(&cx.app.policy)?;
    let (body, is_cut) = cx.beginning().await?;
    let request = MagicLink::decode(&body, is_cut)?;
    metadata::check("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    mail_link(&cx, request, None).await?;
    Ok(Reply::json(&SentJson::default()))
}
