//! Identifies the signed-in user of a request by its access token.

use std::sync::Arc;

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::ban::{BannedAttempt, require_not_banned};
use gotrue_rules::domain::explanation::tokens::explain_token;
use gotrue_rules::domain::oauth_server::confinement;
use gotrue_rules::domain::oauth_server::disclosure::limit_user;
use gotrue_rules::domain::session_rules::session_not_found;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::uuid::parse_uuid;
use http_edge::request::{BearerWhitespace, parse_bearer};
use platform::store;
use platform::store::OrInternalError;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::request_context::{Caller, ReadOnlyCaller, RequestContext, is_oauth_client_token};
use crate::services::explanations;
use crate::store::users;

/// Authenticates the signed-in user, as the guard `CALLER` does, and returns the result.
pub async fn authenticate_caller(cx: &mut RequestContext) -> Result<Arc<Caller>> {
    let claims = verify_access_token(cx)?;
    let found = load_caller(cx, claims).await?;
    require_access(cx, &found.user, found.session.is_some(), found.is_oauth_client_token())?;
    Ok(Arc::clone(cx.guard_results.caller.insert(Arc::new(found))))
}

/// The caller that an earlier guard authenticated; the first one authenticates.
pub(super) async fn find_caller(cx: &mut RequestContext) -> Result<Arc<Caller>> {
    match &cx.guard_results.caller {
        Some(known) => Ok(Arc::clone(known)),
        None => authenticate_caller(cx).await,
    }
}

pub(super) async fn require_read_only_caller(cx: &mut RequestContext) -> Result<()> {
    let claims = verify_access_token(cx)?;
    let subject = Subject::from_claims(&claims)?;
    let found = users::find_to_read(&mut cx.db(), subject.user_id, subject.session_to_load()).await;
    let found = subject.require_loaded(cx, &claims, found, |found| found.session.is_some())?;
    let session_client = found.session.as_ref().and_then(|session| session.oauth_client_id);
    let is_client_token = is_oauth_client_token(&claims, session_client);
    require_access(cx, &found.user, found.session.is_some(), is_client_token)?;
    let user = if is_client_token && cx.app.policy.oauth_server.are_claims_limited_by_scopes {
        let scopes = found.session.and_then(|session| session.scopes);
        limit_user(&found.user, scopes.as_deref().unwrap_or_default())
    } else {
        found.user
    };
    cx.guard_results.read_only_caller = Some(Arc::new(ReadOnlyCaller { user, claims }));
    Ok(())
}

/// Requires that the user is not banned and that the token opens the route, and records the user.
fn require_access(cx: &RequestContext, user: &User, has_session: bool, is_client_token: bool) -> Result<()> {
    require_not_banned(user, BannedAttempt::Access, cx.now)?;
    // A token without a session is an ID token: it identifies a user to a client and authorizes no request.
    let opens = || has_session && confinement::is_client_route_allowed(cx.request.method.as_str(), &cx.request.path);
    if is_confined_client(cx, is_client_token) && !opens() {
        return Err(confinement::client_route_not_allowed());
    }
    cx.record_user(user.id);
    Ok(())
}

/// Whether the token belongs to an OAuth client with restricted access.
pub(super) fn is_confined_client(cx: &RequestContext, is_client_token: bool) -> bool {
    cx.app.policy.oauth_server.are_clients_restricted && is_client_token
}

/// Verifies signature and times of the access token and returns its claims.
pub(super) fn verify_access_token(cx: &RequestContext) -> Result<Arc<Map<String, Value>>> {
    let header = cx.request.header("authorization");
    let token = header
        .and_then(|value| parse_bearer(value, BearerWhitespace::Rejected).present())
        .ok_or_else(|| Error::new(ErrorCode::NoAuthorization, "This endpoint requires a valid Bearer token"))?;
    cx.app.keys.verify(token, cx.now).map_err(|reason| {
        cx.journal.record_decision(explain_token(token, &reason.to_string(), cx.now));
        let message = format!("invalid JWT: unable to parse or verify signature, {reason}");
        Error::new(ErrorCode::BadJwt, message)
    })
}

/// Loads the user and the session that claims name; one statement.
pub(super) async fn load_caller(cx: &RequestContext, claims: Arc<Map<String, Value>>) -> Result<Caller> {
    let subject = Subject::from_claims(&claims)?;
    let found = users::find_with_session(&mut cx.db(), subject.user_id, subject.session_to_load()).await;
    let found = subject.require_loaded(cx, &claims, found, |found| found.session.is_some())?;
    Ok(Caller { user: found.user, session: found.session, claims })
}

/// The user and the session that claims name.
struct Subject {
    user_id: Uuid,
    /// A malformed `session_id` is reported after a missing user.
    session_id: Result<Option<Uuid>>,
}

impl Subject {
    fn from_claims(claims: &Map<String, Value>) -> Result<Self> {
        let sub = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
        if sub.is_empty() {
            return Err(Error::new(ErrorCode::BadJwt, "invalid claim: missing sub claim"));
        }
        let user_id = parse_uuid(sub)
            .ok_or_else(|| Error::http(400, ErrorCode::BadJwt, "invalid claim: sub claim must be a UUID"))?;
        Ok(Self { user_id, session_id: session_id_claim(claims) })
    }

    /// The session to load with the user.
    fn session_to_load(&self) -> Option<Uuid> {
        self.session_id.as_ref().ok().copied().flatten()
    }

    /// Requires that the user was found, and the session if the claims name one.
    fn require_loaded<T>(
        self,
        cx: &RequestContext,
        claims: &Map<String, Value>,
        found: store::Result<Option<T>>,
        has_session: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let found = found.or_internal_error("Database error finding user")?;
        let client_id = claims.get("client_id").and_then(Value::as_str);
        let Some(found) = found else {
            if let Some(wanted) = self.session_to_load() {
                explanations::record_ended_session(cx, self.user_id, wanted, client_id);
            }
            return Err(Error::http(403, ErrorCode::UserNotFound, "User from sub claim in JWT does not exist"));
        };
        if let Some(wanted) = self.session_id?.filter(|_| !has_session(&found)) {
            explanations::record_ended_session(cx, self.user_id, wanted, client_id);
            return Err(session_not_found());
        }
        Ok(found)
    }
}

/// The session that claims name: `None` if absent, empty or nil.
pub(super) fn session_id_claim(claims: &Map<String, Value>) -> Result<Option<Uuid>> {
    let named = claims.get("session_id").and_then(Value::as_str).unwrap_or_default();
    if named.is_empty() {
        return Ok(None);
    }
    let id = parse_uuid(named)
        .ok_or_else(|| Error::new(ErrorCode::BadJwt, "invalid claim: session_id claim must be a UUID"))?;
    Ok(Some(id).filter(|id| !id.is_nil()))
}
