//! `GET /admin/users/{id}/passkeys` and `DELETE …/{passkey_id}`: an account's passkeys, also while passkeys are off.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::passkey::{named_by, not_found};

use super::told;
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::OrRefuse;
use crate::store::passkeys::{self, Of, Passkey};

/// All of them, oldest first.
pub async fn list(cx: Cx) -> Result<Reply> {
    let found = passkeys::of_account(&mut cx.db(), cx.account()?.id).await;
    let found = found.or_refuse("Database error loading passkeys")?;
    Ok(Reply::json(&found.iter().map(Passkey::json).collect::<Vec<_>>()))
}

/// 204.
pub async fn delete(cx: Cx) -> Result<Reply> {
    let user_id = cx.account()?.id;
    let id = named_by(cx.request.param("passkey_id").unwrap_or_default())?;
    let entry =
        Entry::of(Action::PasskeyDeleted).with("user_id", user_id.to_string()).with("passkey_id", id.to_string());
    let gone = passkeys::delete(&mut cx.db(), Of { id, user_id }, told(&cx, entry)?).await;
    if !gone.or_refuse("Database error deleting passkey")? {
        return Err(not_found());
    }
    Ok(Reply::no_content())
}
