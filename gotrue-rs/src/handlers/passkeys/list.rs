//! `GET /passkeys`: the passkeys of the signed-in user, oldest first.

use std::sync::Arc;

use foundation::error::Result;
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::store::passkeys::{self, Passkey};

/// Lists all passkeys, without pages.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let found = passkeys::list_by_user(&mut cx.db(), caller.user.id).await;
    let found = found.or_internal_error("Database error loading passkeys")?;
    Ok(Reply::json(&found.iter().map(Passkey::to_json).collect::<Vec<_>>()))
}
