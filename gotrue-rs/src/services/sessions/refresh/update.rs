//! The checks and writes that refreshes of both versions share.

use std::time::Duration;

use chrono::TimeDelta;
use foundation::error::{Error, Result};
use foundation::time::Time;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry, build_audit_payload};
use gotrue_rules::domain::refresh::{RefreshTokenKey, require_same_client};
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::session_rules::SessionContext;
use gotrue_rules::domain::user::User;
use platform::journal::{Fact, FactCondition};
use platform::store;
use platform::store::Connection;
use uuid::Uuid;

use super::super::{IssuedTokens, RefreshToken, TokenSubject, issue_tokens};
use crate::request_context::RequestContext;
use crate::services::{audit, explanations, sealing};
use crate::store::refresh_rotation::FastRefresh;
use crate::store::refresh_tokens::{self, ClientInfo, RefreshWrite};
use crate::store::rows::UserAndSession;
use crate::store::sessions;

/// The authentication method for the access token hook.
const HOOK_METHOD: &str = "token_refresh";
const UPDATE_FAILED: &str = "failed to update session information";

/// Whether the fast paths cover every rule of the policy for sessions and access tokens.
pub(super) fn has_fast_path(cx: &RequestContext) -> bool {
    let policy = &cx.app.policy;
    let low_aal = policy.sessions.allow_low_aal.is_some_and(|window| !window.is_zero());
    let hooked = policy.hooks.custom_access_token.is_some();
    !policy.sessions.single_per_user && !low_aal && !hooked
}

/// Builds what a fast path compares and writes, with an id for each audit row.
pub(super) fn build_fast_refresh(
    cx: &RequestContext,
    oauth_client: Option<Uuid>,
    audited: &[AuditAction],
) -> FastRefresh {
    let policy = &cx.app.policy;
    let before = |limit: Option<Duration>| {
        let limit = limit.filter(|limit| !limit.is_zero())?;
        cx.now.checked_sub_signed(TimeDelta::from_std(limit).ok()?)
    };
    let is_audited = !policy.operation.audit_log_disable_postgres;
    FastRefresh {
        now: cx.now,
        timebox_cutoff: before(policy.sessions.timebox),
        inactivity_cutoff: before(policy.sessions.inactivity_timeout),
        client: request_client(cx),
        audit_ids: if is_audited { audited.iter().map(|_| cx.entropy.uuid()).collect() } else { Vec::new() },
        oauth_client,
    }
}

/// Wraps the failure of a statement that writes a refresh.
pub(super) fn update_failed(error: store::Error) -> Error {
    error.into_internal_error(UPDATE_FAILED)
}

/// Issues the tokens of a refresh that a fast path has written, with its audit rows.
pub(super) async fn issue_written(
    cx: &RequestContext,
    subject: TokenSubject,
    audited: &[AuditAction],
) -> Result<IssuedTokens> {
    if cx.journal.is_traced() {
        // The statement wrote the same entries.
        for entry in audited.iter().copied().map(AuditEntry::new) {
            let payload = build_audit_payload(&subject.user, entry);
            cx.note(FactCondition::Now, || Fact::Audit { at: cx.now, payload });
        }
    }
    issue_tokens(cx, &mut cx.db(), subject, HOOK_METHOD).await
}

/// The key of a session, and whether it should be stored anew.
pub(super) fn session_key(cx: &RequestContext, session: &Session) -> Result<Option<(RefreshTokenKey, bool)>> {
    let Some(stored) = &session.refresh_token_hmac_key else { return Ok(None) };
    let opened = sealing::open(cx, session.id, stored)?;
    Ok(RefreshTokenKey::from_stored(&opened.plain).map(|key| (key, opened.is_outdated)))
}

/// A request for the next tokens of a session.
pub(super) struct RefreshRequest<'a> {
    pub(super) user: &'a User,
    pub(super) session: &'a Session,
    pub(super) client: Option<Uuid>,
}

/// Checks under the lock: the client, and the user's other sessions where only one may be refreshed.
pub(super) async fn check_locked_session(
    cx: &RequestContext,
    db: &mut Connection,
    request: RefreshRequest<'_>,
    token_time: Option<Time>,
) -> Result<()> {
    require_same_client(request.session, request.client)?;
    if !cx.app.policy.sessions.single_per_user {
        return Ok(());
    }
    let others = sessions::list_by_user(db, request.user.id).await?;
    session_facts(cx, request.user, request.session, token_time).require_newest(&others)
}

/// Rolls back before returning the error, so that the next request does not find the lock.
pub(super) async fn rollback_with_error<T>(db: Connection, error: Error) -> Result<T> {
    db.rollback().await?;
    Err(error)
}

pub(super) fn require_valid(
    cx: &RequestContext,
    user: &User,
    session: &Session,
    token_time: Option<Time>,
) -> Result<()> {
    let validity = session_facts(cx, user, session, token_time).decide_validity();
    explanations::record_invalid_session(cx, validity, session, token_time);
    validity.require_valid()
}

/// The facts that decide the validity of a session now.
pub fn session_facts<'a>(
    cx: &'a RequestContext,
    user: &'a User,
    session: &'a Session,
    token_time: Option<Time>,
) -> SessionContext<'a> {
    SessionContext { session, user, token_time, policy: &cx.app.policy.sessions, now: cx.now }
}

fn request_client(cx: &RequestContext) -> ClientInfo {
    ClientInfo { user_agent: cx.request.user_agent(), ip: cx.client_ip() }
}

pub(super) fn build_update(
    cx: &RequestContext,
    user: &User,
    session: &Session,
    entries: Vec<AuditEntry>,
) -> RefreshWrite {
    RefreshWrite {
        session_id: session.id,
        user_id: user.id,
        now: cx.now,
        client: request_client(cx),
        rotation: None,
        counter: None,
        audit: audit::build_rows(cx, user, entries),
    }
}

/// Writes the update, issues the tokens and commits.
///
/// The write is rolled back if no tokens can be issued.
pub(super) async fn write_update(
    cx: &RequestContext,
    mut db: Connection,
    change: RefreshWrite,
    answer: RefreshToken,
) -> Result<IssuedTokens> {
    let written = refresh_tokens::write_refresh(&mut db, change).await.map_err(update_failed)?;
    let Some(UserAndSession { user, session: Some(session) }) = written else {
        return Err(Error::internal(UPDATE_FAILED));
    };
    let issued = issue_tokens(cx, &mut db, TokenSubject { user, session, refresh_token: answer }, HOOK_METHOD).await?;
    db.commit().await?;
    Ok(issued)
}
