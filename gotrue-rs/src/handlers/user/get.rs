//! `GET /user`: one statement, the guard's.

use std::sync::Arc;

use foundation::error::{Error, Result};
use gotrue_rules::wire::user::UserJson;

use crate::http::reply::Reply;
use crate::request_context::{ReadOnlyCaller, RequestContext, first_audience};

/// Returns the user of the token.
pub async fn handle(cx: RequestContext, caller: Arc<ReadOnlyCaller>) -> Result<Reply> {
    if first_audience(&caller.claims).unwrap_or_default() != cx.audience() {
        return Err(Error::invalid("Token audience doesn't match request audience"));
    }
    Ok(Reply::json(&UserJson::from(&caller.user)))
}
