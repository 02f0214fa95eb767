//! `POST /signup`: with an address or a number, or anonymous.

mod anonymous;
mod contact;

use foundation::error::Result;
use gotrue_rules::domain::metadata;
use gotrue_rules::wire::requests::SignUpRequest;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;

/// Reads the body and dispatches; anonymous sign-ups have their own rate limit.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let request = SignUpRequest::decode(&cx.read_body().await?)?;
    metadata::validate("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    if request.is_anonymous() {
        anonymous::sign_up_anonymous(&cx, request).await
    } else {
        contact::sign_up_with_contact(&cx, request).await
    }
}
