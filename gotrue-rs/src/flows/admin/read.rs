//! `GET /admin/users/{id}`: one statement, the guard's.

use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::user::UserJson;

use crate::cx::Cx;
use crate::http::reply::Reply;

/// The account of the path.
pub async fn handle(cx: Cx) -> Result<Reply> {
    Ok(Reply::json(&UserJson::from(cx.account()?)))
}
