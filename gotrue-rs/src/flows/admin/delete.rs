//! `DELETE /admin/users/{id}`: two statements, the guard's and the deletion.

use gotrue_rules::domain::audit::Action;
use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::requests::AdminDeletion;
use serde_json::Map;

use super::{entry, told};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::OrRefuse;
use crate::store::admin::deletion::{delete, soft_delete};

/// The account is gone, or only its row is left.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let account = cx.account()?;
    let request = AdminDeletion::decode(&cx.bytes().await?)?;
    let rows = told(&cx, entry(Action::UserDeleted, account))?;
    if request.is_soft {
        soft_delete(&mut cx.db(), account.id, cx.now, rows).await.or_refuse("Error soft deleting user")?;
    } else {
        delete(&mut cx.db(), account.id, rows).await.or_refuse("Database error deleting user")?;
    }
    Ok(Reply::json(&Map::new()))
}
