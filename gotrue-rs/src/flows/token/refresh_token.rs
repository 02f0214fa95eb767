//! `grant_type=refresh_token`: one statement where the fast lane takes it.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::refresh::Presented;
use gotrue_rules::wire::requests::RefreshTokenGrant;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::sessions::Extras;
use crate::services::sessions::refresh::refresh;

/// The next tokens of the session.
pub async fn answer(cx: &Cx) -> Result<Reply> {
    let request = RefreshTokenGrant::decode(&cx.bytes().await?)?;
    let presented = Presented::parse(&request.refresh_token)?;
    let minted = refresh(cx, &presented, None).await?;
    Ok(minted.reply(Extras::default()))
}
