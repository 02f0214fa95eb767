//! Exchanges refresh tokens.
//!
//! The fast path of each version writes by one statement, before which version 2 reads the session's key; everything
//! else loads, decides and writes under a lock. Property tests check that both follow the same rule.

mod signed;
mod update;

use std::borrow::Cow;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::refresh::{
    PresentedRefreshToken, RefreshTokenKey, SignedToken, StoredRefreshToken, StoredTokenDecision, already_used,
    decide_stored, require_active_session, should_upgrade, token_not_found, too_many_concurrent_requests,
};
use gotrue_rules::domain::session::Session;
use platform::explanation::history::digest_secret;
use platform::journal::{Fact, FactCondition, Step};
use platform::store::Connection;
use uuid::Uuid;

use self::signed::{signed_token_name, try_signed_token};
pub use self::update::session_facts;
use self::update::{
    RefreshRequest, build_fast_refresh, build_update, check_locked_session, has_fast_path, issue_written,
    require_valid, rollback_with_error, session_key, update_failed, write_update,
};
use super::{
    IssuedTokens, REUSE_HEADER, RefreshToken, SESSION_ID_HEADER, TokenSubject, USER_ID_HEADER, begin_token_transaction,
};
use crate::request_context::RequestContext;
use crate::services::{explanations, sealing};
use crate::store::refresh_rotation::{self, FastRotation};
use crate::store::refresh_tokens::{self, RefreshTokenState, Rotation};
use crate::store::rows::UserAndSession;

/// How long a request retries while others refresh the same session.
const LOCK_TIMEOUT: TimeDelta = TimeDelta::seconds(5);

/// Issues the tokens that replace the presented one.
///
/// `client` is the authenticated OAuth client; `None` for a user's own session.
pub async fn refresh(
    cx: &RequestContext,
    presented: &PresentedRefreshToken,
    client: Option<Uuid>,
) -> Result<IssuedTokens> {
    cx.note(FactCondition::Success, || Fact::SecretUsed {
        digest: digest_secret(&match presented {
            PresentedRefreshToken::Stored(token) => Cow::Borrowed(token.as_str()),
            PresentedRefreshToken::Signed(token) => Cow::Owned(signed_token_name(token)),
        }),
    });
    if let PresentedRefreshToken::Stored(token) = presented
        && let Some(issued) = rotate_fast(cx, token, client).await?
    {
        return Ok(issued);
    }
    loop {
        let attempt = match presented {
            PresentedRefreshToken::Stored(token) => try_row_token(cx, token, client).await?,
            PresentedRefreshToken::Signed(token) => try_signed_token(cx, token, client).await?,
        };
        if let Some(issued) = attempt {
            return Ok(issued);
        }
        if cx.app.clock.now() - cx.now > LOCK_TIMEOUT {
            return Err(too_many_concurrent_requests());
        }
        let [chance] = cx.entropy.bytes();
        cx.app.clock.timeout(Duration::from_millis(10 + u64::from(chance % 20))).await;
    }
}

/// Whether the fast path covers every rule of the policy for tokens of version 1.
fn has_stored_fast_path(cx: &RequestContext) -> bool {
    let policy = &cx.app.policy.refresh;
    let upgrades = policy.algorithm_version == 2 && policy.upgrade_percentage > 0;
    !upgrades && has_fast_path(cx)
}

/// Rotates an unrevoked token of version 1 in one statement; `None` if the general path must decide.
async fn rotate_fast(cx: &RequestContext, token: &str, oauth_client: Option<Uuid>) -> Result<Option<IssuedTokens>> {
    if !has_stored_fast_path(cx) {
        return Ok(None);
    }
    let successor = cx.entropy.refresh_token();
    let audited = [AuditAction::TokenRefreshed, AuditAction::TokenRevoked];
    let refresh = build_fast_refresh(cx, oauth_client, &audited);
    let rotation = FastRotation { token, successor: successor.clone(), refresh };
    let rotated = refresh_rotation::rotate_fast(&mut cx.db(), rotation).await.map_err(update_failed)?;
    let Some(UserAndSession { user, session: Some(session) }) = rotated else { return Ok(None) };
    cx.journal.record(Step::Decision("refresh.rotate_fast"));
    cx.insert_response_header(REUSE_HEADER, "false");
    let refresh_token = RefreshToken { text: successor, counter: None };
    issue_written(cx, TokenSubject { user, session, refresh_token }, &audited).await.map(Some)
}

/// One attempt with a token of version 1; `None` if another request holds the lock.
async fn try_row_token(cx: &RequestContext, token: &str, client: Option<Uuid>) -> Result<Option<IssuedTokens>> {
    let found = refresh_tokens::find(&mut cx.db(), token).await?.ok_or_else(token_not_found)?;
    cx.insert_response_header(USER_ID_HEADER, &found.user.id.to_string());
    if found.session.is_none() && !found.user.is_banned(cx.now) {
        refresh_tokens::delete(&mut cx.db(), found.id).await?;
    }
    let session = require_active_session(&found.user, found.session.as_ref(), cx.now)?;
    cx.insert_response_header(SESSION_ID_HEADER, &session.id.to_string());
    require_valid(cx, &found.user, session, Some(found.updated_at))?;

    let mut db = begin_token_transaction(cx).await?;
    let Some(found) = refresh_tokens::find_locked(&mut db, token).await? else {
        db.rollback().await?;
        return Ok(None);
    };
    let session = match require_active_session(&found.user, found.session.as_ref(), cx.now) {
        Ok(session) => session,
        Err(error) => return rollback_with_error(db, error).await,
    };
    if let Err(error) =
        check_locked_session(cx, &mut db, RefreshRequest { user: &found.user, session, client }, Some(found.updated_at))
            .await
    {
        return rollback_with_error(db, error).await;
    }
    let active = found.active.as_ref().map(|active| (active.token.as_str(), active.parent.as_deref()));
    let row = StoredRefreshToken { token, revoked: found.is_revoked, updated_at: found.updated_at, active };
    match decide_stored(&row, &cx.app.policy.refresh, cx.now) {
        StoredTokenDecision::Rotate => rotate_row_token(cx, db, token, &found, session).await.map(Some),
        StoredTokenDecision::ReturnActive(active) => {
            cx.journal.record(Step::Decision("refresh.hand_out"));
            let token = RefreshToken { text: active, counter: None };
            let change = build_update(cx, &found.user, session, vec![AuditEntry::new(AuditAction::TokenRefreshed)]);
            write_update(cx, db, change, token).await.map(Some)
        }
        StoredTokenDecision::RevokeFamily => {
            refresh_tokens::revoke_family(&mut db, session.id, cx.now).await?;
            db.commit().await?;
            explanations::record_reuse(cx, token, Some(found.updated_at), true);
            Err(already_used())
        }
        StoredTokenDecision::Reject => {
            explanations::record_reuse(cx, token, Some(found.updated_at), false);
            rollback_with_error(db, already_used()).await
        }
    }
}

/// Rotates the token: it becomes the parent of its successor.
///
/// A session that changes to version 2 gets its key here.
async fn rotate_row_token(
    cx: &RequestContext,
    db: Connection,
    token: &str,
    found: &RefreshTokenState,
    session: &Session,
) -> Result<IssuedTokens> {
    cx.journal.record(Step::Decision("refresh.rotate"));
    let successor = cx.entropy.refresh_token();
    let entries = vec![AuditEntry::new(AuditAction::TokenRefreshed), AuditEntry::new(AuditAction::TokenRevoked)];
    let mut change = build_update(cx, &found.user, session, entries);
    let mut answer = RefreshToken { text: successor.clone(), counter: None };
    let is_retired = should_upgrade(session.id, &cx.app.policy.refresh);
    if is_retired {
        let known = session_key(cx, session)?.map(|(key, _)| key);
        let counter = if known.is_some() { session.refresh_token_counter.unwrap_or_default() + 1 } else { 0 };
        let key = known.unwrap_or_else(|| RefreshTokenKey::new(cx.entropy.bytes()));
        cx.insert_response_header(super::TOKEN_PREFIX_HEADER, successor.get(..5).unwrap_or_default());
        answer = RefreshToken { text: SignedToken::encode(session.id, counter, &key), counter: Some(counter) };
        change.counter = Some((counter, Some(sealing::seal(cx, session.id, &key.to_stored()))));
        cx.insert_response_header(super::TOKEN_PREFIX_HEADER, answer.text.get(..5).unwrap_or_default());
    }
    change.rotation = Some(Rotation { id: found.id, token: token.to_owned(), successor, is_retired });
    cx.insert_response_header(REUSE_HEADER, "false");
    write_update(cx, db, change, answer).await
}
