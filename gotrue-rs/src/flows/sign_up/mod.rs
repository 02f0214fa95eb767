//! `POST /signup`: with an address or a number, or with neither.

mod anonymous;
mod contact;

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::metadata;
use gotrue_rules::wire::requests::SignUp;

use crate::cx::Cx;
use crate::http::reply::Reply;

/// Reads the body, then goes one of two ways: each has a rate limit of its own.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = SignUp::decode(&cx.bytes().await?)?;
    metadata::check("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    if request.is_anonymous() { anonymous::answer(&cx, request).await } else { contact::answer(&cx, request).await }
}
