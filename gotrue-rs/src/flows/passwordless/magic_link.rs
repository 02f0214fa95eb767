//! `POST /magiclink`: a link to sign in, by mail. The switches are told before the body is read.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::passwordless::require_magic_links;
use gotrue_rules::wire::message::SentJson;
use gotrue_rules::wire::requests::MagicLink;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::passwordless::mail_link;

/// Mails a link and a code to that address; whoever is new is signed up.
pub async fn handle(cx: Cx) -> Result<Reply> {
    require_magic_links(&cx.app.policy)?;
    mail_link(&cx, MagicLink::decode(&cx.bytes().await?)?, None).await?;
    Ok(Reply::json(&SentJson::default()))
}
