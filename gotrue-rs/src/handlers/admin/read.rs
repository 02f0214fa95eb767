//! `GET /admin/users/{id}`: one statement, the guard's.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::user::UserJson;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;

/// Returns the user named in the path.
pub async fn handle(_: RequestContext, user: Arc<User>) -> Result<Reply> {
    Ok(Reply::json(&UserJson::from(&*user)))
}
