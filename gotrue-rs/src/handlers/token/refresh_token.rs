//! `grant_type=refresh_token`: one statement on the fast path.

use foundation::error::Result;
use gotrue_rules::domain::refresh::PresentedRefreshToken;
use gotrue_rules::wire::requests::RefreshTokenGrant;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::sessions::SessionExtras;
use crate::services::sessions::refresh::refresh;

/// Issues the next tokens of the session.
pub(super) async fn grant_refresh_token(cx: &RequestContext) -> Result<Reply> {
    let request = RefreshTokenGrant::decode(&cx.read_body().await?)?;
    let presented = PresentedRefreshToken::parse(&request.refresh_token)?;
    let issued = refresh(cx, &presented, None).await?;
    Ok(issued.reply(SessionExtras::default()))
}
