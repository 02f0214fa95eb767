//! `GET /user/oauth/grants`: what the signed-in account allows which client; `DELETE` takes it back.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::oauth_server::scope;
use gotrue_rules::wire::oauth_server::GrantJson;
use uuid::Uuid;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::audit;
use crate::store::OrRefuse;
use crate::store::oauth_consents::{self, Grant, Revoked};

/// All of them, newest first.
pub async fn list(cx: Cx) -> Result<Reply> {
    let found = oauth_consents::of_account(&mut cx.db(), cx.caller()?.account.id).await;
    let found = found.or_refuse("Error fetching OAuth grants")?;
    Ok(Reply::json(&found.iter().map(json).collect::<Vec<_>>()))
}

fn json(grant: &Grant) -> GrantJson<'_> {
    let scopes = scope::list(&grant.scopes).collect();
    GrantJson { client: (&grant.client).into(), scopes, granted_at: grant.granted_at }
}

/// 204: the client's sessions have ended, and it must ask anew.
pub async fn revoke(cx: Cx) -> Result<Reply> {
    const FAILED: &str = "Error revoking grant";
    let caller = &cx.caller()?.account;
    let named = cx.request.query("client_id").filter(|named| !named.is_empty());
    let named = named.ok_or_else(|| Error::invalid("client_id query parameter is required"))?;
    let client_id = Uuid::parse_str(named).map_err(|_| Error::invalid("invalid client_id format"))?;
    let entry = Entry::of(Action::TokenRevoked)
        .with("oauth_client_id", client_id.to_string())
        .with("action", "revoke_oauth_grant");
    let rows = audit::rows(&cx, caller, [entry]);
    let mut db = cx.begin().await.or_refuse(FAILED)?;
    let revoked = Revoked { user_id: caller.id, client_id, now: cx.now };
    if !oauth_consents::revoke(&mut db, revoked, rows).await.or_refuse(FAILED)? {
        db.rollback().await.or_refuse(FAILED)?;
        return Err(Error::not_found("oauth_consent_not_found", "No active grant found for this client"));
    }
    db.commit().await.or_refuse(FAILED)?;
    Ok(Reply::no_content())
}
