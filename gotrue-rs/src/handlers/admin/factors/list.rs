//! `GET /admin/users/{id}/factors`: one statement, the guard's.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::factor::FactorJson;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;

/// Lists the user's factors.
pub async fn handle(_: RequestContext, user: Arc<User>) -> Result<Reply> {
    let factors: Vec<FactorJson<'_>> = user.factors.iter().map(FactorJson::from).collect();
    Ok(Reply::json(&factors))
}
