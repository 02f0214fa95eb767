//! `GET /admin/users/{id}/factors`: one statement, the guard's.

use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::factor::FactorJson;

use crate::cx::Cx;
use crate::http::reply::Reply;

/// The account's factors.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let factors: Vec<FactorJson<'_>> = cx.account()?.factors.iter().map(FactorJson::from).collect();
    Ok(Reply::json(&factors))
}
