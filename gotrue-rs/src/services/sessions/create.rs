//! Creates a session after an authentication.

use foundation::error::{Error, Result};
use foundation::time::Time;
use gotrue_rules::domain::audit::AuditEntry;
use gotrue_rules::domain::ban::{BannedAttempt, require_not_banned};
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::refresh::{RefreshTokenKey, SignedToken};
use gotrue_rules::domain::session::{Aal, AmrClaim, Session};
use gotrue_rules::domain::user::User;
use platform::store::{Connection, OrInternalError};
use uuid::Uuid;

use super::{IssuedTokens, RefreshToken, TokenSubject, build_claims, insert_token_headers, sign_access_token};
use crate::request_context::RequestContext;
use crate::services::{audit, sealing};
use crate::store::sessions;
use crate::store::sessions::NewSession;

/// An authentication that succeeded: the user, the method, and the properties of the new session.
#[derive(Debug)]
pub struct Authentication<'a> {
    /// The user, as it was loaded.
    pub user: &'a User,
    /// The method in the claim `amr`.
    pub method: &'a str,
    /// The audit log entries.
    pub audit: Vec<AuditEntry>,
    /// A fixed end of the session.
    pub not_after: Option<Time>,
    /// The password hash that was verified: no session is created if the password changed since.
    pub verified_hash: Option<&'a str>,
    /// The OAuth client of the session; `None` for the user's own.
    pub oauth_client: Option<Uuid>,
    /// The scopes granted to that client, space-separated.
    pub scopes: Option<&'a str>,
}

impl<'a> Authentication<'a> {
    /// An authentication without optional properties.
    pub fn new(user: &'a User, method: &'a str, audit: Vec<AuditEntry>) -> Self {
        Self { user, method, audit, not_after: None, verified_hash: None, oauth_client: None, scopes: None }
    }
}

/// Creates a session and issues its first tokens. On a pooled connection this is one statement.
pub async fn create_session(
    cx: &RequestContext,
    db: &mut Connection,
    authentication: Authentication<'_>,
) -> Result<IssuedTokens> {
    let issued = create_session_if_unchanged(cx, db, authentication).await?;
    issued.ok_or_else(|| Error::internal("Database error granting user"))
}

/// Creates a session, or returns `None` if the user changed since it was authenticated.
pub async fn create_session_if_unchanged(
    cx: &RequestContext,
    db: &mut Connection,
    authentication: Authentication<'_>,
) -> Result<Option<IssuedTokens>> {
    if cx.app.policy.sessions.should_reject_banned_sign_in {
        require_not_banned(authentication.user, BannedAttempt::Access, cx.now)?;
    }
    if db.is_transaction() || !cx.app.hooks.is_in_database(HookKind::CustomAccessToken) {
        return insert_session(cx, db, authentication).await;
    }
    // The database function sees the session, which is rolled back if the function refuses.
    let mut db = cx.begin().await?;
    let issued = insert_session(cx, &mut db, authentication).await?;
    db.commit().await?;
    Ok(issued)
}

/// An HTTP hook is called before the write, because it does not see it.
///
/// On a pooled connection none is held then.
async fn insert_session(
    cx: &RequestContext,
    db: &mut Connection,
    authentication: Authentication<'_>,
) -> Result<Option<IssuedTokens>> {
    let id = cx.entropy.uuid();
    let (refresh_token, hmac_key) = first_refresh_token(cx, id);
    let new = NewSession {
        id,
        user_id: authentication.user.id,
        now: cx.now,
        not_after: authentication.not_after,
        user_agent: cx.request.user_agent(),
        ip: cx.client_ip(),
        oauth_client_id: authentication.oauth_client,
        scopes: authentication.scopes.map(str::to_owned),
        refresh_token: refresh_token.counter.is_none().then(|| refresh_token.text.clone()),
        hmac_key,
        amr_id: cx.entropy.uuid(),
        method: authentication.method.to_owned(),
        expected_password_hash: authentication.verified_hash.map(str::to_owned),
        audit: audit::build_rows(cx, authentication.user, authentication.audit),
    };
    let session = session_of_row(&new);
    // As in GoTrue, the response has the headers of a session that the access token hook refuses.
    let add_headers = |_: &Error| insert_token_headers(cx, &session, &refresh_token);
    let hook_claims = if cx.app.hooks.is_http(HookKind::CustomAccessToken) {
        Some(
            build_claims(cx, db, authentication.user, &session, authentication.method)
                .await
                .inspect_err(add_headers)?,
        )
    } else {
        None
    };
    let opened = sessions::create(db, new).await.or_internal_error("Database error granting user")?;
    let Some(mut user) = opened else { return Ok(None) };
    let claims = if let Some(claims) = hook_claims {
        claims
    } else {
        // As in GoTrue, the claims do not include identities that were linked by this sign-in.
        let stored = std::mem::replace(&mut user.identities, authentication.user.identities.clone());
        let claims = build_claims(cx, db, &user, &session, authentication.method).await.inspect_err(add_headers)?;
        user.identities = stored;
        claims
    };
    sign_access_token(cx, claims, TokenSubject { user, session, refresh_token }).map(Some)
}

/// The session as its row will be.
pub(super) fn session_of_row(new: &NewSession) -> Session {
    Session {
        id: new.id,
        user_id: new.user_id,
        aal: Aal::Aal1,
        not_after: new.not_after,
        user_agent: new.user_agent.clone(),
        ip: new.ip.map(|ip| ip.to_string()),
        oauth_client_id: new.oauth_client_id,
        scopes: new.scopes.clone(),
        created_at: new.now,
        updated_at: new.now,
        amr: vec![AmrClaim { method: new.method.clone(), updated_at: new.now }],
        ..Session::default()
    }
}

/// Issues the first refresh token in the configured version.
///
/// For version 2 it also returns the encrypted key of the session.
pub(super) fn first_refresh_token(cx: &RequestContext, session: Uuid) -> (RefreshToken, Option<String>) {
    if cx.app.policy.refresh.algorithm_version == 2 {
        let key = RefreshTokenKey::new(cx.entropy.bytes());
        let text = SignedToken::encode(session, 0, &key);
        return (RefreshToken { text, counter: Some(0) }, Some(sealing::seal(cx, session, &key.to_stored())));
    }
    (RefreshToken { text: cx.entropy.refresh_token(), counter: None }, None)
}
