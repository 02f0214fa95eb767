//! `GET /user`: one statement, the guard's.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::wire::user::UserJson;

use crate::http::reply::Reply;
use crate::request_context::{RequestContext, first_audience};

/// Returns the user of the token.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let caller = cx.read_only_caller()?;
    if first_audience(&caller.claims).unwrap_or_default() != cx.audience() {
        return Err(Error::invalid("Token audience doesn't match request audience"));
    }
    Ok(Reply::json(&UserJson::from(&caller.user)))
}
