//! `/user/oauth/grants`: lists the OAuth clients that the user authorized, and revokes a grant.

use std::sync::Arc;

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::oauth_server::client::malformed_client_id;
use gotrue_rules::domain::oauth_server::scope;
use gotrue_rules::wire::oauth_server::GrantJson;
use gotrue_rules::wire::uuid::parse_uuid;
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::audit;
use crate::store::oauth_consents::{self, ConsentGrant, ConsentRevocation};

/// Lists all grants, newest first.
pub async fn list(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let found = oauth_consents::list_by_user(&mut cx.db(), caller.user.id).await;
    let found = found.or_internal_error("Error fetching OAuth grants")?;
    Ok(Reply::json(&found.iter().map(grant_json).collect::<Vec<_>>()))
}

fn grant_json(grant: &ConsentGrant) -> GrantJson<'_> {
    let scopes = scope::split_scopes(&grant.scopes).collect();
    GrantJson { client: (&grant.client).into(), scopes, granted_at: grant.granted_at }
}

/// Revokes a grant and deletes the client's sessions; 204.
pub async fn revoke(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    const FAILED: &str = "Error revoking grant";
    let user = &caller.user;
    let named = cx.request.query("client_id").filter(|named| !named.is_empty());
    let named = named.ok_or_else(|| Error::invalid("client_id query parameter is required"))?;
    let client_id = parse_uuid(named).ok_or_else(malformed_client_id)?;
    let entry = AuditEntry::new(AuditAction::TokenRevoked)
        .with_trait("oauth_client_id", client_id.to_string())
        .with_trait("action", "revoke_oauth_grant");
    let rows = audit::build_rows(&cx, user, [entry]);
    let mut db = cx.begin().await.or_internal_error(FAILED)?;
    let revoked = ConsentRevocation { user_id: user.id, client_id, now: cx.now };
    if !oauth_consents::revoke(&mut db, revoked, rows).await.or_internal_error(FAILED)? {
        db.rollback().await.or_internal_error(FAILED)?;
        return Err(Error::new(ErrorCode::OAuthConsentNotFound, "No active grant found for this client"));
    }
    db.commit().await.or_internal_error(FAILED)?;
    Ok(Reply::no_content())
}
