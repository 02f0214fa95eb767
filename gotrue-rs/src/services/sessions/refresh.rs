//! Exchanging refresh tokens. The fast lane rotates an unrevoked token of version 1 in one statement; everything else
//! reads, decides, and writes under a lock. A property test holds the two to one rule.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::refresh::{
    Presented, Row, RowOutcome, SessionKey, SignedOutcome, SignedToken, already_used, check_account, check_client,
    decide_row, decide_signed, is_upgraded, not_found, not_issued_here, too_many_at_once,
};
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::session_rules::Facts;
use gotrue_rules::domain::user::{Account, Time};
use uuid::Uuid;

use super::{Fresh, Minted, REUSE, REUSE_CAUSE, ROTATED, RefreshToken, SESSION_ID, USER_ID, begin, mint};
use crate::cx::Cx;
use crate::journal::Step;
use crate::services::{audit, sealing};
use crate::store::refresh_tokens::{self, Client, FastLane, Refreshed, Rotation, TokenFacts};
use crate::store::rows::AccountAndSession;
use crate::store::{Connection, sessions};

/// How long a request tries to get at a session that others refresh.
const PATIENCE: TimeDelta = TimeDelta::seconds(5);
/// What the token hook is told of how the owner signed in.
const METHOD: &str = "token_refresh";
const FAILED: &str = "failed to update session information";

/// The tokens that replace the presented one. `client` is the OAuth client that asks; none for an account's own.
pub async fn refresh(cx: &Cx, presented: &Presented, client: Option<Uuid>) -> Result<Minted> {
    if let (Presented::Row(token), true) = (presented, has_fast_lane(cx))
        && let Some(minted) = fast(cx, token, client).await?
    {
        return Ok(minted);
    }
    loop {
        let attempt = match presented {
            Presented::Row(token) => row(cx, token, client).await?,
            Presented::Signed(token) => signed(cx, token, client).await?,
        };
        if let Some(minted) = attempt {
            return Ok(minted);
        }
        if cx.app.clock.now() - cx.now > PATIENCE {
            return Err(too_many_at_once());
        }
        let [chance] = cx.entropy.bytes();
        cx.app.clock.sleep(Duration::from_millis(10 + u64::from(chance % 20))).await;
    }
}

/// Where a rule looks at more than the fast lane does, there is none.
fn has_fast_lane(cx: &Cx) -> bool {
    let policy = &cx.app.policy;
    let upgrades = policy.refresh.algorithm_version == 2 && policy.refresh.upgrade_percentage > 0;
    let low_aal = policy.sessions.allow_low_aal.is_some_and(|window| !window.is_zero());
    let hooked = policy.hooks.custom_access_token.is_some();
    !policy.sessions.single_per_user && !upgrades && !low_aal && !hooked
}

async fn fast(cx: &Cx, token: &str, oauth_client: Option<Uuid>) -> Result<Option<Minted>> {
    let policy = &cx.app.policy;
    let before = |limit: Option<Duration>| {
        let limit = limit.filter(|limit| !limit.is_zero())?;
        cx.now.checked_sub_signed(TimeDelta::from_std(limit).ok()?)
    };
    let successor = cx.entropy.refresh_token();
    let audited = !policy.operation.audit_log_disable_postgres;
    let lane = FastLane {
        token,
        successor: successor.clone(),
        now: cx.now,
        timebox_cutoff: before(policy.sessions.timebox),
        inactivity_cutoff: before(policy.sessions.inactivity_timeout),
        client: client_of(cx),
        audit_ids: if audited { vec![cx.entropy.uuid(), cx.entropy.uuid()] } else { Vec::new() },
        oauth_client,
    };
    let rotated = refresh_tokens::rotate_fast(&mut cx.db(), lane).await.map_err(|error| error.wrapped(FAILED))?;
    let Some(AccountAndSession { account, session: Some(session) }) = rotated else { return Ok(None) };
    cx.journal.note(Step::Decision("refresh.rotate_fast"));
    cx.mark(REUSE, "false");
    let refresh_token = RefreshToken { text: successor, counter: None };
    mint(cx, &mut cx.db(), Fresh { account, session, refresh_token }, METHOD).await.map(Some)
}

/// One attempt with a token of version 1; none when somebody else holds the lock.
async fn row(cx: &Cx, token: &str, client: Option<Uuid>) -> Result<Option<Minted>> {
    let found = refresh_tokens::facts(&mut cx.db(), token).await?.ok_or_else(not_found)?;
    cx.mark(USER_ID, &found.account.id.to_string());
    if found.session.is_none() && !found.account.is_banned(cx.now) {
        refresh_tokens::delete(&mut cx.db(), found.id).await?;
    }
    let session = check_account(&found.account, found.session.as_ref(), cx.now)?;
    cx.mark(SESSION_ID, &session.id.to_string());
    facts(cx, &found.account, session, Some(found.updated_at)).validity().check()?;

    let mut db = begin(cx).await?;
    let Some(found) = refresh_tokens::facts_locked(&mut db, token).await? else {
        db.rollback().await?;
        return Ok(None);
    };
    let session = match check_account(&found.account, found.session.as_ref(), cx.now) {
        Ok(session) => session,
        Err(error) => return refuse(db, error).await,
    };
    if let Err(error) =
        check_locked(cx, &mut db, Asked { account: &found.account, session, client }, Some(found.updated_at)).await
    {
        return refuse(db, error).await;
    }
    let active = found.active.as_ref().map(|active| (active.token.as_str(), active.parent.as_deref()));
    let row = Row { token, revoked: found.revoked, updated_at: found.updated_at, active };
    match decide_row(&row, &cx.app.policy.refresh, cx.now) {
        RowOutcome::Rotate => rotate(cx, db, token, &found, session).await.map(Some),
        RowOutcome::HandOut(active) => {
            cx.journal.note(Step::Decision("refresh.hand_out"));
            let token = RefreshToken { text: active, counter: None };
            let change = change(cx, &found.account, session, vec![Entry::of(Action::TokenRefreshed)]);
            write(cx, db, change, token).await.map(Some)
        }
        RowOutcome::RevokeFamily => {
            refresh_tokens::revoke_family(&mut db, session.id, cx.now).await?;
            db.commit().await?;
            Err(already_used())
        }
        RowOutcome::Refuse => refuse(db, already_used()).await,
    }
}

/// The token becomes its successor's parent; a session that changes to version 2 gets a key now.
async fn rotate(cx: &Cx, db: Connection, token: &str, found: &TokenFacts, session: &Session) -> Result<Minted> {
    cx.journal.note(Step::Decision("refresh.rotate"));
    let successor = cx.entropy.refresh_token();
    let entries = vec![Entry::of(Action::TokenRefreshed), Entry::of(Action::TokenRevoked)];
    let mut change = change(cx, &found.account, session, entries);
    let mut answer = RefreshToken { text: successor.clone(), counter: None };
    let is_retired = is_upgraded(session.id, &cx.app.policy.refresh);
    if is_retired {
        let known = key_of(cx, session)?.map(|(key, _)| key);
        let counter = if known.is_some() { session.refresh_token_counter.unwrap_or_default() + 1 } else { 0 };
        let key = known.unwrap_or_else(|| SessionKey::new(cx.entropy.bytes()));
        cx.mark(super::PREFIX, successor.get(..5).unwrap_or_default());
        answer = RefreshToken { text: SignedToken::encode(session.id, counter, &key), counter: Some(counter) };
        change.counter = Some((counter, Some(sealing::seal(cx, session.id, &key.stored()))));
        cx.mark(super::PREFIX, answer.text.get(..5).unwrap_or_default());
    }
    change.rotation = Some(Rotation { id: found.id, token: token.to_owned(), successor, is_retired });
    cx.mark(REUSE, "false");
    write(cx, db, change, answer).await
}

/// One attempt with a token of version 2; none when somebody else holds the lock.
async fn signed(cx: &Cx, token: &SignedToken, client: Option<Uuid>) -> Result<Option<Minted>> {
    let found = refresh_tokens::session(&mut cx.db(), token.session()).await?;
    let Known { account, session, .. } = known(cx, found, token)?;
    cx.mark(USER_ID, &account.id.to_string());
    check_account(&account, Some(&session), cx.now)?;
    cx.mark(SESSION_ID, &session.id.to_string());
    facts(cx, &account, &session, None).validity().check()?;

    let mut db = begin(cx).await?;
    let Some(found) = refresh_tokens::session_locked(&mut db, token.session()).await? else {
        db.rollback().await?;
        return Ok(None);
    };
    let Known { account, session, key, resealed } = match known(cx, Some(found), token) {
        Ok(known) => known,
        Err(error) => return refuse(db, error).await,
    };
    if let Err(error) = check_locked(cx, &mut db, Asked { account: &account, session: &session, client }, None).await {
        return refuse(db, error).await;
    }
    let (counter, cause) = match decide_signed(token, &session, &cx.app.policy.refresh, cx.now) {
        SignedOutcome::Advance { counter } => (counter, None),
        SignedOutcome::HandOut { counter, cause } => (counter, Some(cause)),
        SignedOutcome::EndSession => {
            sessions::delete(&mut db, account.id, sessions::Ending::Only(session.id), Vec::new()).await?;
            db.commit().await?;
            cx.mark(ROTATED, "true");
            return Err(already_used());
        }
        SignedOutcome::Refuse => return refuse(db, already_used()).await,
        SignedOutcome::NotIssuedHere => return refuse(db, not_issued_here()).await,
    };
    match cause {
        Some(cause) => cx.mark(REUSE_CAUSE, &cause),
        None => cx.mark(REUSE, "false"),
    }
    let mut change = change(cx, &account, &session, vec![Entry::of(Action::TokenRefreshed)]);
    change.counter = Some((counter, resealed));
    let answer = RefreshToken { text: SignedToken::encode(session.id, counter, &key), counter: Some(counter) };
    write(cx, db, change, answer).await.map(Some)
}

/// What is known of a token that was signed with its session's key.
struct Known {
    account: Account,
    session: Session,
    key: SessionKey,
    /// What to store of the key, if it is not sealed as today's are.
    resealed: Option<String>,
}

fn known(cx: &Cx, found: Option<AccountAndSession>, token: &SignedToken) -> Result<Known> {
    let Some(AccountAndSession { account, session: Some(session) }) = found else { return Err(not_found()) };
    match key_of(cx, &session)? {
        Some((key, is_outdated)) if token.is_signed_with(&key) => {
            let resealed = is_outdated.then(|| sealing::seal(cx, session.id, &key.stored()));
            Ok(Known { account, session, key, resealed })
        }
        _ => Err(not_found()),
    }
}

/// The key of a session, if it has one, and whether it should be stored anew.
fn key_of(cx: &Cx, session: &Session) -> Result<Option<(SessionKey, bool)>> {
    let Some(stored) = &session.refresh_token_hmac_key else { return Ok(None) };
    let opened = sealing::open(cx, session.id, stored)?;
    Ok(SessionKey::from_stored(&opened.plain).map(|key| (key, opened.is_outdated)))
}

/// Who asks for the next tokens of which session.
struct Asked<'a> {
    account: &'a Account,
    session: &'a Session,
    client: Option<Uuid>,
}

/// What is looked at once the session is locked: the client, and where only one session may refresh, the others.
async fn check_locked(cx: &Cx, db: &mut Connection, asked: Asked<'_>, token_time: Option<Time>) -> Result<()> {
    check_client(asked.session, asked.client)?;
    if !cx.app.policy.sessions.single_per_user {
        return Ok(());
    }
    let others = sessions::of_account(db, asked.account.id).await?;
    facts(cx, asked.account, asked.session, token_time).check_newest(&others)
}

/// Refuses once the lock is given back, so that whoever comes next does not find it.
async fn refuse<T>(db: Connection, error: Error) -> Result<T> {
    db.rollback().await?;
    Err(error)
}

/// What the session's validity depends on, at this moment.
pub fn facts<'a>(cx: &'a Cx, account: &'a Account, session: &'a Session, token_time: Option<Time>) -> Facts<'a> {
    Facts { session, account, token_time, policy: &cx.app.policy.sessions, now: cx.now }
}

fn client_of(cx: &Cx) -> Client {
    Client { user_agent: cx.request.user_agent(), ip: cx.client_ip() }
}

fn change(cx: &Cx, account: &Account, session: &Session, entries: Vec<Entry>) -> Refreshed {
    Refreshed {
        session_id: session.id,
        user_id: account.id,
        now: cx.now,
        client: client_of(cx),
        rotation: None,
        counter: None,
        audit: audit::rows(cx, account, entries),
    }
}

/// Writes, mints, commits: what cannot be minted is not written.
async fn write(cx: &Cx, mut db: Connection, change: Refreshed, answer: RefreshToken) -> Result<Minted> {
    let written = refresh_tokens::write(&mut db, change).await.map_err(|error| error.wrapped(FAILED))?;
    let Some(AccountAndSession { account, session: Some(session) }) = written else {
        return Err(Error::internal(FAILED));
    };
    let minted = mint(cx, &mut db, Fresh { account, session, refresh_token: answer }, METHOD).await?;
    db.commit().await?;
    Ok(minted)
}
