//! `POST /logout`: ends sessions of the account. Two statements, the guard's and the end.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use uuid::Uuid;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::audit;
use crate::store::OrRefuse;
use crate::store::sessions::{self, Ending};

/// Ends all sessions, this one, or all others; a token without a session ends all.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let caller = cx.caller()?;
    let session = caller.session.as_ref().map(|session| session.id);
    let mut ending = ending(cx.request.query("scope").unwrap_or_default(), session)?;
    if cx.app.policy.oauth_server.clients_confined && caller.is_a_clients() {
        // A client gives back what it was given, and leaves the account's own sessions alone.
        ending = Ending::Only(session.unwrap_or_default());
    }
    let rows = audit::rows(&cx, &caller.account, [Entry::of(Action::Logout)]);
    sessions::delete(&mut cx.db(), caller.account.id, ending, rows).await.or_refuse("Error logging out user")?;
    Ok(Reply::no_content())
}

fn ending(scope: &str, session: Option<Uuid>) -> Result<Ending> {
    let of_this = |ending: fn(Uuid) -> Ending| session.map_or(Ending::All, ending);
    match scope {
        "" | "global" => Ok(Ending::All),
        "local" => Ok(of_this(Ending::Only)),
        "others" => Ok(of_this(Ending::AllBut)),
        unknown => Err(Error::invalid(format!("Unsupported logout scope {unknown:?}"))),
    }
}
