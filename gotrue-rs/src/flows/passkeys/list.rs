//! `GET /passkeys`: those of the signed-in account, oldest first.

use gotrue_rules::domain::error::Result;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::OrRefuse;
use crate::store::passkeys::{self, Passkey};

/// All of them; there are few.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let found = passkeys::of_account(&mut cx.db(), cx.caller()?.account.id).await;
    let found = found.or_refuse("Database error loading passkeys")?;
    Ok(Reply::json(&found.iter().map(Passkey::json).collect::<Vec<_>>()))
}
