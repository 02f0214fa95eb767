//! Refreshes with tokens of version 2: a counter that is signed with the session's key.
//!
//! One statement reads session and key, and the process verifies the signature. The fast path then advances the counter
//! in one statement, if session and key are still as they were read.

use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::refresh::{
    RefreshTokenKey, SignedToken, SignedTokenDecision, already_used, counter_not_issued, decide_signed,
    require_active_session, token_not_found,
};
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::user::User;
use platform::journal::Step;
use platform::store::Connection;
use uuid::Uuid;

use super::super::{
    IssuedTokens, REUSE_CAUSE_HEADER, REUSE_HEADER, ROTATED_HEADER, RefreshToken, SESSION_ID_HEADER, TokenSubject,
    USER_ID_HEADER, begin_token_transaction,
};
use super::update::{
    RefreshRequest, build_fast_refresh, build_update, check_locked_session, has_fast_path, issue_written,
    require_valid, rollback_with_error, session_key, update_failed, write_update,
};
use crate::request_context::RequestContext;
use crate::services::{explanations, sealing};
use crate::store::refresh_rotation::{self, FastAdvance};
use crate::store::refresh_tokens;
use crate::store::rows::UserAndSession;
use crate::store::sessions;

/// Names a token of version 2 for explanations.
pub(super) fn signed_token_name(token: &SignedToken) -> String {
    format!("{}/{}", token.session(), token.counter())
}

/// Advances the counter in one statement, with a key that was read.
///
/// Returns `None` if the general path must decide.
async fn advance_fast(
    cx: &RequestContext,
    token: &SignedToken,
    client: Option<Uuid>,
    owner: &SignedTokenOwner,
) -> Result<Option<IssuedTokens>> {
    let decision = decide_signed(token, &owner.session, &cx.app.policy.refresh, cx.now);
    let (SignedTokenDecision::Advance { counter }, true) = (decision, has_fast_path(cx)) else { return Ok(None) };
    if token.counter() == i64::MAX {
        return Ok(None);
    }
    let Some(verified_key) = owner.session.refresh_token_hmac_key.clone() else { return Ok(None) };
    let audited = [AuditAction::TokenRefreshed];
    let advance = FastAdvance {
        session_id: token.session(),
        counter: token.counter(),
        verified_key,
        resealed_key: owner.resealed.clone(),
        refresh: build_fast_refresh(cx, client, &audited),
    };
    let advanced = refresh_rotation::advance_fast(&mut cx.db(), advance).await.map_err(update_failed)?;
    let Some(UserAndSession { user, session: Some(session) }) = advanced else { return Ok(None) };
    cx.journal.record(Step::Decision("refresh.advance_fast"));
    cx.insert_response_header(REUSE_HEADER, "false");
    let text = SignedToken::encode(session.id, counter, &owner.key);
    let refresh_token = RefreshToken { text, counter: Some(counter) };
    issue_written(cx, TokenSubject { user, session, refresh_token }, &audited).await.map(Some)
}

/// One attempt with a token of version 2; `None` if another request holds the lock.
pub(super) async fn try_signed_token(
    cx: &RequestContext,
    token: &SignedToken,
    client: Option<Uuid>,
) -> Result<Option<IssuedTokens>> {
    let found = refresh_tokens::find_session(&mut cx.db(), token.session()).await?;
    let owner = verify_signed_token(cx, found, token)?;
    cx.insert_response_header(USER_ID_HEADER, &owner.user.id.to_string());
    require_active_session(&owner.user, Some(&owner.session), cx.now)?;
    cx.insert_response_header(SESSION_ID_HEADER, &owner.session.id.to_string());
    require_valid(cx, &owner.user, &owner.session, None)?;
    if let Some(issued) = advance_fast(cx, token, client, &owner).await? {
        return Ok(Some(issued));
    }

    let mut db = begin_token_transaction(cx).await?;
    let Some(found) = refresh_tokens::find_session_locked(&mut db, token.session()).await? else {
        db.rollback().await?;
        return Ok(None);
    };
    let owner = match verify_signed_token(cx, Some(found), token) {
        Ok(owner) => owner,
        Err(error) => return rollback_with_error(db, error).await,
    };
    let request = RefreshRequest { user: &owner.user, session: &owner.session, client };
    if let Err(error) = check_locked_session(cx, &mut db, request, None).await {
        return rollback_with_error(db, error).await;
    }
    write_signed(cx, db, token, owner).await.map(Some)
}

/// Decides about the locked session and writes the outcome.
async fn write_signed(
    cx: &RequestContext,
    mut db: Connection,
    token: &SignedToken,
    owner: SignedTokenOwner,
) -> Result<IssuedTokens> {
    let SignedTokenOwner { user, session, key, resealed } = owner;
    let (counter, cause) = match decide_signed(token, &session, &cx.app.policy.refresh, cx.now) {
        SignedTokenDecision::Advance { counter } => (counter, None),
        SignedTokenDecision::ReturnCurrent { counter, cause } => (counter, Some(cause)),
        SignedTokenDecision::EndSession => {
            sessions::delete(&mut db, user.id, sessions::SessionSelection::Only(session.id), Vec::new()).await?;
            db.commit().await?;
            cx.insert_response_header(ROTATED_HEADER, "true");
            explanations::record_reuse(cx, &signed_token_name(token), None, true);
            return Err(already_used());
        }
        SignedTokenDecision::Refuse => {
            explanations::record_reuse(cx, &signed_token_name(token), None, false);
            return rollback_with_error(db, already_used()).await;
        }
        SignedTokenDecision::CounterNotIssued => return rollback_with_error(db, counter_not_issued()).await,
    };
    match cause {
        Some(cause) => cx.insert_response_header(REUSE_CAUSE_HEADER, &cause),
        None => cx.insert_response_header(REUSE_HEADER, "false"),
    }
    let mut change = build_update(cx, &user, &session, vec![AuditEntry::new(AuditAction::TokenRefreshed)]);
    change.counter = Some((counter, resealed));
    let answer = RefreshToken { text: SignedToken::encode(session.id, counter, &key), counter: Some(counter) };
    write_update(cx, db, change, answer).await
}

/// The user, session and key of a token that is signed with the session's key.
struct SignedTokenOwner {
    user: User,
    session: Session,
    key: RefreshTokenKey,
    /// The key to store, if the stored one is encrypted with an outdated key.
    resealed: Option<String>,
}

fn verify_signed_token(
    cx: &RequestContext,
    found: Option<UserAndSession>,
    token: &SignedToken,
) -> Result<SignedTokenOwner> {
    let Some(UserAndSession { user, session: Some(session) }) = found else { return Err(token_not_found()) };
    match session_key(cx, &session)? {
        Some((key, is_outdated)) if token.is_signed_with(&key) => {
            let resealed = is_outdated.then(|| sealing::seal(cx, session.id, &key.to_stored()));
            Ok(SignedTokenOwner { user, session, key, resealed })
        }
        _ => Err(token_not_found()),
    }
}
