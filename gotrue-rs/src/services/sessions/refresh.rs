//! Exchanges refresh tokens.
//!
//! The fast path rotates an active token of version 1 in one statement; everything else loads, decides and writes under
//! a lock. A property test checks that both follow the same rule.

use std::borrow::Cow;
use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry, build_audit_payload};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::refresh::{
    PresentedRefreshToken, RefreshTokenKey, SignedToken, SignedTokenDecision, StoredRefreshToken, StoredTokenDecision,
    already_used, counter_not_issued, decide_signed, decide_stored, require_active_session, require_same_client,
    should_upgrade, token_not_found, too_many_concurrent_requests,
};
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::session_rules::SessionContext;
use gotrue_rules::domain::user::{Time, User};
use uuid::Uuid;

use super::{
    IssuedTokens, REUSE_CAUSE_HEADER, REUSE_HEADER, ROTATED_HEADER, RefreshToken, SESSION_ID_HEADER, TokenSubject,
    USER_ID_HEADER, begin_token_transaction, issue_tokens,
};
use crate::explanation::history::digest_secret;
use crate::journal::{Fact, FactCondition, Step};
use crate::request_context::RequestContext;
use crate::services::{audit, explanations, sealing};
use crate::store::refresh_tokens::{self, ClientInfo, FastRotation, RefreshTokenState, RefreshWrite, Rotation};
use crate::store::rows::AccountAndSession;
use crate::store::{Connection, sessions};

/// How long a request retries while others refresh the same session.
const LOCK_TIMEOUT: TimeDelta = TimeDelta::seconds(5);
/// The authentication method for the access token hook.
const HOOK_METHOD: &str = "token_refresh";
const UPDATE_FAILED: &str = "failed to update session information";

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
    if let (PresentedRefreshToken::Stored(token), true) = (presented, has_fast_path(cx))
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

/// Names a token of version 2 for explanations.
fn signed_token_name(token: &SignedToken) -> String {
    format!("{}/{}", token.session(), token.counter())
}

/// Whether the fast path covers every rule of the policy.
fn has_fast_path(cx: &RequestContext) -> bool {
    let policy = &cx.app.policy;
    let upgrades = policy.refresh.algorithm_version == 2 && policy.refresh.upgrade_percentage > 0;
    let low_aal = policy.sessions.allow_low_aal.is_some_and(|window| !window.is_zero());
    let hooked = policy.hooks.custom_access_token.is_some();
    !policy.sessions.single_per_user && !upgrades && !low_aal && !hooked
}

async fn rotate_fast(cx: &RequestContext, token: &str, oauth_client: Option<Uuid>) -> Result<Option<IssuedTokens>> {
    let policy = &cx.app.policy;
    let before = |limit: Option<Duration>| {
        let limit = limit.filter(|limit| !limit.is_zero())?;
        cx.now.checked_sub_signed(TimeDelta::from_std(limit).ok()?)
    };
    let successor = cx.entropy.refresh_token();
    let audited = !policy.operation.audit_log_disable_postgres;
    let lane = FastRotation {
        token,
        successor: successor.clone(),
        now: cx.now,
        timebox_cutoff: before(policy.sessions.timebox),
        inactivity_cutoff: before(policy.sessions.inactivity_timeout),
        client: request_client(cx),
        audit_ids: if audited { vec![cx.entropy.uuid(), cx.entropy.uuid()] } else { Vec::new() },
        oauth_client,
    };
    let rotated = refresh_tokens::rotate_fast(&mut cx.db(), lane)
        .await
        .map_err(|error| error.into_internal_error(UPDATE_FAILED))?;
    let Some(AccountAndSession { account, session: Some(session) }) = rotated else { return Ok(None) };
    cx.journal.record(Step::Decision("refresh.rotate_fast"));
    if cx.journal.is_traced() {
        // The statement wrote the same entries.
        let entries = [AuditAction::TokenRefreshed, AuditAction::TokenRevoked].map(AuditEntry::new);
        for entry in entries {
            let payload = build_audit_payload(&account, entry);
            cx.note(FactCondition::Now, || Fact::Audit { at: cx.now, payload });
        }
    }
    cx.insert_response_header(REUSE_HEADER, "false");
    let refresh_token = RefreshToken { text: successor, counter: None };
    issue_tokens(cx, &mut cx.db(), TokenSubject { account, session, refresh_token }, HOOK_METHOD).await.map(Some)
}

/// One attempt with a token of version 1; `None` if another request holds the lock.
async fn try_row_token(cx: &RequestContext, token: &str, client: Option<Uuid>) -> Result<Option<IssuedTokens>> {
    let found = refresh_tokens::find(&mut cx.db(), token).await?.ok_or_else(token_not_found)?;
    cx.insert_response_header(USER_ID_HEADER, &found.account.id.to_string());
    if found.session.is_none() && !found.account.is_banned(cx.now) {
        refresh_tokens::delete(&mut cx.db(), found.id).await?;
    }
    let session = require_active_session(&found.account, found.session.as_ref(), cx.now)?;
    cx.insert_response_header(SESSION_ID_HEADER, &session.id.to_string());
    require_valid(cx, &found.account, session, Some(found.updated_at))?;

    let mut db = begin_token_transaction(cx).await?;
    let Some(found) = refresh_tokens::find_locked(&mut db, token).await? else {
        db.rollback().await?;
        return Ok(None);
    };
    let session = match require_active_session(&found.account, found.session.as_ref(), cx.now) {
        Ok(session) => session,
        Err(error) => return rollback_with_error(db, error).await,
    };
    if let Err(error) = check_locked_session(
        cx,
        &mut db,
        RefreshRequest { account: &found.account, session, client },
        Some(found.updated_at),
    )
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
            let change = build_update(cx, &found.account, session, vec![AuditEntry::new(AuditAction::TokenRefreshed)]);
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
    let mut change = build_update(cx, &found.account, session, entries);
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

/// One attempt with a token of version 2; `None` if another request holds the lock.
async fn try_signed_token(
    cx: &RequestContext,
    token: &SignedToken,
    client: Option<Uuid>,
) -> Result<Option<IssuedTokens>> {
    let found = refresh_tokens::find_session(&mut cx.db(), token.session()).await?;
    let SignedTokenOwner { account, session, .. } = verify_signed_token(cx, found, token)?;
    cx.insert_response_header(USER_ID_HEADER, &account.id.to_string());
    require_active_session(&account, Some(&session), cx.now)?;
    cx.insert_response_header(SESSION_ID_HEADER, &session.id.to_string());
    require_valid(cx, &account, &session, None)?;

    let mut db = begin_token_transaction(cx).await?;
    let Some(found) = refresh_tokens::find_session_locked(&mut db, token.session()).await? else {
        db.rollback().await?;
        return Ok(None);
    };
    let SignedTokenOwner { account, session, key, resealed } = match verify_signed_token(cx, Some(found), token) {
        Ok(known) => known,
        Err(error) => return rollback_with_error(db, error).await,
    };
    if let Err(error) =
        check_locked_session(cx, &mut db, RefreshRequest { account: &account, session: &session, client }, None).await
    {
        return rollback_with_error(db, error).await;
    }
    let (counter, cause) = match decide_signed(token, &session, &cx.app.policy.refresh, cx.now) {
        SignedTokenDecision::Advance { counter } => (counter, None),
        SignedTokenDecision::ReturnCurrent { counter, cause } => (counter, Some(cause)),
        SignedTokenDecision::EndSession => {
            sessions::delete(&mut db, account.id, sessions::SessionSelection::Only(session.id), Vec::new()).await?;
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
    let mut change = build_update(cx, &account, &session, vec![AuditEntry::new(AuditAction::TokenRefreshed)]);
    change.counter = Some((counter, resealed));
    let answer = RefreshToken { text: SignedToken::encode(session.id, counter, &key), counter: Some(counter) };
    write_update(cx, db, change, answer).await.map(Some)
}

/// The user, session and key of a token that is signed with the session's key.
struct SignedTokenOwner {
    account: User,
    session: Session,
    key: RefreshTokenKey,
    /// The key to store, if the stored one is encrypted with an outdated key.
    resealed: Option<String>,
}

fn verify_signed_token(
    cx: &RequestContext,
    found: Option<AccountAndSession>,
    token: &SignedToken,
) -> Result<SignedTokenOwner> {
    let Some(AccountAndSession { account, session: Some(session) }) = found else { return Err(token_not_found()) };
    match session_key(cx, &session)? {
        Some((key, is_outdated)) if token.is_signed_with(&key) => {
            let resealed = is_outdated.then(|| sealing::seal(cx, session.id, &key.to_stored()));
            Ok(SignedTokenOwner { account, session, key, resealed })
        }
        _ => Err(token_not_found()),
    }
}

/// The key of a session, and whether it should be stored anew.
fn session_key(cx: &RequestContext, session: &Session) -> Result<Option<(RefreshTokenKey, bool)>> {
    let Some(stored) = &session.refresh_token_hmac_key else { return Ok(None) };
    let opened = sealing::open(cx, session.id, stored)?;
    Ok(RefreshTokenKey::from_stored(&opened.plain).map(|key| (key, opened.is_outdated)))
}

/// A request for the next tokens of a session.
struct RefreshRequest<'a> {
    account: &'a User,
    session: &'a Session,
    client: Option<Uuid>,
}

/// Checks under the lock: the client, and the user's other sessions where only one may be refreshed.
async fn check_locked_session(
    cx: &RequestContext,
    db: &mut Connection,
    request: RefreshRequest<'_>,
    token_time: Option<Time>,
) -> Result<()> {
    require_same_client(request.session, request.client)?;
    if !cx.app.policy.sessions.single_per_user {
        return Ok(());
    }
    let others = sessions::list_by_user(db, request.account.id).await?;
    session_facts(cx, request.account, request.session, token_time).require_newest(&others)
}

/// Rolls back before returning the error, so that the next request does not find the lock.
async fn rollback_with_error<T>(db: Connection, error: Error) -> Result<T> {
    db.rollback().await?;
    Err(error)
}

fn require_valid(cx: &RequestContext, account: &User, session: &Session, token_time: Option<Time>) -> Result<()> {
    let validity = session_facts(cx, account, session, token_time).decide_validity();
    explanations::record_invalid_session(cx, validity, session, token_time);
    validity.require_valid()
}

/// The facts that decide the validity of a session now.
pub fn session_facts<'a>(
    cx: &'a RequestContext,
    account: &'a User,
    session: &'a Session,
    token_time: Option<Time>,
) -> SessionContext<'a> {
    SessionContext { session, account, token_time, policy: &cx.app.policy.sessions, now: cx.now }
}

fn request_client(cx: &RequestContext) -> ClientInfo {
    ClientInfo { user_agent: cx.request.user_agent(), ip: cx.client_ip() }
}

fn build_update(cx: &RequestContext, account: &User, session: &Session, entries: Vec<AuditEntry>) -> RefreshWrite {
    RefreshWrite {
        session_id: session.id,
        user_id: account.id,
        now: cx.now,
        client: request_client(cx),
        rotation: None,
        counter: None,
        audit: audit::build_rows(cx, account, entries),
    }
}

/// Writes the update, issues the tokens and commits.
///
/// The write is rolled back if no tokens can be issued.
async fn write_update(
    cx: &RequestContext,
    mut db: Connection,
    change: RefreshWrite,
    answer: RefreshToken,
) -> Result<IssuedTokens> {
    let written = refresh_tokens::write_refresh(&mut db, change)
        .await
        .map_err(|error| error.into_internal_error(UPDATE_FAILED))?;
    let Some(AccountAndSession { account, session: Some(session) }) = written else {
        return Err(Error::internal(UPDATE_FAILED));
    };
    let issued =
        issue_tokens(cx, &mut db, TokenSubject { account, session, refresh_token: answer }, HOOK_METHOD).await?;
    db.commit().await?;
    Ok(issued)
}
