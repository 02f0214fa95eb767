//! Raises a session to `aal2` by a verified second factor.
//!
//! The session stays and gets new tokens; a refresh token from before does not give access to `aal2`. Weaker sessions
//! of the user end.

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::refresh::{RefreshTokenKey, SignedToken};
use gotrue_rules::domain::session::{Aal, AmrClaim, Session};
use gotrue_rules::domain::session_rules::session_not_found;
use platform::store::{Connection, OrInternalError};
use uuid::Uuid;

use super::{IssuedTokens, RefreshToken, TokenSubject, issue_tokens};
use crate::request_context::{Caller, RequestContext};
use crate::services::{audit, sealing};
use crate::store::elevation::{self, ElevatedSession, LockedSession};
use crate::store::rows::UserAndSession;

/// A session that is being raised.
///
/// The user's sessions are locked, so that concurrent verifications run one after the other.
#[derive(Debug)]
pub struct Elevation<'a> {
    /// The open transaction. The factor's own writes belong here, before [`Elevation::finish`].
    pub db: Connection,
    caller: &'a Caller,
    session_id: Uuid,
    locked: LockedSession,
}

/// A factor that was verified.
#[derive(Debug)]
pub struct VerifiedFactor {
    pub factor_id: Uuid,
    pub factor_type: FactorType,
    /// The audit entry of the verification.
    pub audit: AuditEntry,
}

impl VerifiedFactor {
    /// A factor whose challenge was answered.
    pub fn by_challenge(factor_id: Uuid, factor_type: FactorType, challenge_id: Uuid) -> Self {
        let audit = AuditEntry::new(AuditAction::VerificationAttempted)
            .with_trait("factor_id", factor_id.to_string())
            .with_trait("challenge_id", challenge_id.to_string())
            .with_trait("factor_type", factor_type.as_str());
        Self { factor_id, factor_type, audit }
    }
}

/// Begins to raise the caller's session.
///
/// Nothing is written before [`Elevation::finish`].
///
/// # Errors
///
/// 403 if the session has ended; 500, as in GoTrue, if the access token names none.
pub async fn begin_elevation<'a>(cx: &RequestContext, caller: &'a Caller) -> Result<Elevation<'a>> {
    let session_id = caller.session.as_ref().map(|session| session.id).ok_or_else(session_not_named)?;
    let mut db = super::begin_token_transaction(cx).await?;
    let locked = elevation::lock_sessions(&mut db, caller.user.id, session_id)
        .await
        .or_internal_error("Failed to update session")?;
    match locked {
        Some(locked) => Ok(Elevation { db, caller, session_id, locked }),
        None => rollback_session_not_found(db).await,
    }
}

impl Elevation<'_> {
    /// Rolls back and waits for it.
    pub async fn rollback(self) -> Result<()> {
        Ok(self.db.rollback().await?)
    }

    /// Raises the session, issues its tokens and commits.
    pub async fn finish(mut self, cx: &RequestContext, verified: VerifiedFactor) -> Result<IssuedTokens> {
        let refresh_token = self.next_refresh_token(cx)?;
        let is_row = refresh_token.counter.is_none();
        let elevated = ElevatedSession {
            session_id: self.session_id,
            user_id: self.caller.user.id,
            factor_id: verified.factor_id,
            factor_type: verified.factor_type,
            now: cx.now,
            amr_id: cx.entropy.uuid(),
            refresh_token: is_row.then_some(refresh_token.text.as_str()),
            counter: refresh_token.counter,
            audit: audit::build_rows(cx, &self.caller.user, audit_entries(&verified, is_row)),
        };
        let written = elevation::elevate(&mut self.db, elevated).await.or_internal_error("Failed to update session")?;
        let Some(UserAndSession { user, session: Some(session) }) = written else {
            return rollback_session_not_found(self.db).await;
        };
        let subject =
            TokenSubject { user, session: with_verified_method(session, verified.factor_type, cx), refresh_token };
        let issued = issue_tokens(cx, &mut self.db, subject, verified.factor_type.amr_method()).await?;
        self.db.commit().await?;
        Ok(issued)
    }

    /// Issues the next token in the session's own version.
    ///
    /// Version 2 skips a counter: the token from before is then not one that can be returned again.
    fn next_refresh_token(&self, cx: &RequestContext) -> Result<RefreshToken> {
        let (Some(stored), Some(counter)) = (&self.locked.refresh_token_hmac_key, self.locked.refresh_token_counter)
        else {
            return Ok(RefreshToken { text: cx.entropy.refresh_token(), counter: None });
        };
        let opened = sealing::open(cx, self.session_id, stored)?;
        let key = RefreshTokenKey::from_stored(&opened.plain);
        let key = key.ok_or_else(|| Error::internal("Failed to get session's refresh token key"))?;
        let counter = counter + 2;
        let text = SignedToken::encode(self.session_id, counter, &key);
        Ok(RefreshToken { text, counter: Some(counter) })
    }
}

fn audit_entries(verified: &VerifiedFactor, is_row: bool) -> Vec<AuditEntry> {
    let mut entries = vec![verified.audit.clone()];
    if is_row {
        entries.push(AuditEntry::new(AuditAction::TokenRevoked));
    }
    entries
}

/// The session with the verified method.
fn with_verified_method(mut session: Session, kind: FactorType, cx: &RequestContext) -> Session {
    session.aal = Aal::Aal2;
    session.amr.retain(|claim| claim.method != kind.amr_method());
    session.amr.push(AmrClaim { method: kind.amr_method().to_owned(), updated_at: cx.now });
    session
}

async fn rollback_session_not_found<T>(db: Connection) -> Result<T> {
    db.rollback().await?;
    Err(session_not_found())
}

fn session_not_named() -> Error {
    Error::internal("Cannot read SessionId claim as UUID")
}

/// The caller's session.
///
/// GoTrue answers 500 if there is none; every route that uses one checks it first.
pub fn require_session(caller: &Caller) -> Result<&Session> {
    let missing = || Error::internal("A valid session and a registered user are required to enroll a factor");
    caller.session.as_ref().ok_or_else(missing)
}
