//! Creates a session with given authentication methods and expiry, for test environments.

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::claims;
use gotrue_rules::domain::session::AmrClaim;
use gotrue_rules::domain::user::User;
use platform::store::OrInternalError;
use serde_json::json;
use uuid::Uuid;

use super::create::{first_refresh_token, session_of_row};
use super::{IssuedTokens, TokenSubject, begin_token_transaction, build_claims, sign_access_token};
use crate::request_context::RequestContext;
use crate::services::audit;
use crate::store::sessions::NewSession;
use crate::store::{preset_sessions, sessions};

/// A session to create without a proof of authentication.
#[derive(Debug)]
pub struct PresetSession<'a> {
    pub user: &'a User,
    /// The method of the first factor.
    pub first_method: AmrClaim,
    /// The other methods. A second factor raises the session to `aal2`.
    pub more_methods: Vec<AmrClaim>,
    /// The factor of the `aal2` verification, if the user has one.
    pub factor_id: Option<Uuid>,
    /// The lifetime of the access token in seconds, negative if it has expired; `None` for the usual one.
    pub expires_in: Option<i64>,
}

/// Creates the session and issues its first tokens in one transaction.
///
/// # Errors
///
/// The user no longer exists, the access token hook refuses, or the database fails.
pub async fn create_preset_session(cx: &RequestContext, preset: PresetSession<'_>) -> Result<IssuedTokens> {
    let mut db = begin_token_transaction(cx).await?;
    let id = cx.entropy.uuid();
    let (refresh_token, hmac_key) = first_refresh_token(cx, id);
    let method = preset.first_method.method.clone();
    let entry = AuditEntry::new(AuditAction::Login).with_trait("provider", method.as_str());
    let new = NewSession {
        id,
        user_id: preset.user.id,
        now: cx.now,
        not_after: None,
        user_agent: None,
        ip: None,
        oauth_client_id: None,
        scopes: None,
        refresh_token: refresh_token.counter.is_none().then(|| refresh_token.text.clone()),
        hmac_key,
        amr_id: cx.entropy.uuid(),
        method: method.clone(),
        expected_password_hash: None,
        audit: audit::build_rows(cx, preset.user, [entry]),
    };
    let mut session = session_of_row(&new);
    session.amr = std::iter::once(preset.first_method).chain(preset.more_methods).collect();
    session.aal = claims::aal(&session.amr);
    session.factor_id = preset.factor_id;
    let created = sessions::create(&mut db, new).await.or_internal_error("Database error granting user")?;
    let user = created.ok_or_else(|| Error::internal("Database error granting user"))?;
    let ids = session.amr.iter().map(|_| cx.entropy.uuid()).collect();
    preset_sessions::set_methods(&mut db, &session, ids).await.or_internal_error("Database error granting user")?;
    let mut access = build_claims(cx, &mut db, &user, &session, &method).await?;
    if let Some(seconds) = preset.expires_in {
        access.expires_at = cx.now.timestamp().saturating_add(seconds);
        access.claims.insert("exp".to_owned(), json!(access.expires_at));
    }
    let issued = sign_access_token(cx, access, TokenSubject { user, session, refresh_token })?;
    db.commit().await?;
    Ok(issued)
}
