//! `POST /logout`: ends sessions of the user in two statements, the guard's and the deletion.

use std::sync::Arc;

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::wire::go_quote::go_quote;
use platform::store::OrInternalError;
use uuid::Uuid;

use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::audit;
use crate::store::sessions::{self, SessionSelection};

/// Ends all sessions, this one, or all others. A token without a session ends all.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let session = caller.session.as_ref().map(|session| session.id);
    let mut ending = parse_scope(cx.request.url_query("scope").unwrap_or_default(), session)?;
    if cx.app.policy.oauth_server.are_clients_restricted && caller.is_oauth_client_token() {
        // An OAuth client ends only its own session.
        ending = SessionSelection::Only(session.unwrap_or_default());
    }
    let rows = audit::build_rows(&cx, &caller.user, [AuditEntry::new(AuditAction::Logout)]);
    sessions::delete(&mut cx.db(), caller.user.id, ending, rows).await.or_internal_error("Error logging out user")?;
    Ok(Reply::no_content())
}

fn parse_scope(scope: &str, session: Option<Uuid>) -> Result<SessionSelection> {
    let of_this = |ending: fn(Uuid) -> SessionSelection| session.map_or(SessionSelection::All, ending);
    match scope {
        "" | "global" => Ok(SessionSelection::All),
        "local" => Ok(of_this(SessionSelection::Only)),
        "others" => Ok(of_this(SessionSelection::AllBut)),
        unknown => Err(Error::invalid(format!("Unsupported logout scope {}", go_quote(unknown)))),
    }
}
