//! Lifting a session to `aal2` by a second factor. The session stays, its tokens are new: a refresh token from before
//! does not come by the new level in another way than those after it. Weaker sessions of the account end.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::refresh::{SessionKey, SignedToken};
use gotrue_rules::domain::session::{Aal, AmrClaim, Session};
use uuid::Uuid;

use super::{Fresh, Minted, RefreshToken, mint};
use crate::cx::{Caller, Cx};
use crate::services::{audit, sealing};
use crate::store::elevation::{self, Elevated, Locked};
use crate::store::rows::AccountAndSession;
use crate::store::{Connection, OrRefuse};

/// A session about to be lifted: its account's sessions are locked, so that of two answers one comes after the other.
#[derive(Debug)]
pub struct Elevation {
    /// The open transaction. What the factor itself has to write goes here, before [`Elevation::finish`].
    pub db: Connection,
    session_id: Uuid,
    locked: Locked,
}

/// What lifts a session.
#[derive(Debug)]
pub struct Shown {
    /// The factor.
    pub factor_id: Uuid,
    /// Its kind.
    pub kind: FactorType,
    /// The challenge that was answered.
    pub challenge_id: Uuid,
}

/// Begins to lift the caller's session; 403 if it has ended meanwhile. Nothing is written before
/// [`Elevation::finish`], and dropped it was nothing.
pub async fn begin(cx: &Cx) -> Result<Elevation> {
    let caller = cx.caller()?;
    let session_id = caller.session.as_ref().map(|session| session.id).ok_or_else(session_gone)?;
    let mut db = super::begin(cx).await?;
    let locked = elevation::lock(&mut db, caller.account.id, session_id).await.or_refuse("Failed to update session")?;
    match locked {
        Some(locked) => Ok(Elevation { db, session_id, locked }),
        None => refuse(db).await,
    }
}

impl Elevation {
    /// Undoes what was begun, and waits for it.
    pub async fn give_up(self) -> Result<()> {
        Ok(self.db.rollback().await?)
    }

    /// Lifts the session, mints its tokens and commits.
    pub async fn finish(mut self, cx: &Cx, shown: Shown) -> Result<Minted> {
        let caller = cx.caller()?;
        let refresh_token = self.next_token(cx)?;
        let is_row = refresh_token.counter.is_none();
        let elevated = Elevated {
            session_id: self.session_id,
            user_id: caller.account.id,
            factor_id: shown.factor_id,
            factor_type: shown.kind,
            now: cx.now,
            amr_id: cx.entropy.uuid(),
            refresh_token: is_row.then_some(refresh_token.text.as_str()),
            counter: refresh_token.counter,
            audit: audit::rows(cx, &caller.account, entries(&shown, is_row)),
        };
        let written = elevation::elevate(&mut self.db, elevated).await.or_refuse("Failed to update session")?;
        let Some(AccountAndSession { account, session: Some(session) }) = written else {
            return refuse(self.db).await;
        };
        let fresh = Fresh { account, session: with_method(session, shown.kind, cx), refresh_token };
        let minted = mint(cx, &mut self.db, fresh, shown.kind.method()).await?;
        self.db.commit().await?;
        Ok(minted)
    }

    /// The next token in the session's own version. That of version 2 skips a number: the token from before is then
    /// none of those that are handed out again.
    fn next_token(&self, cx: &Cx) -> Result<RefreshToken> {
        let (Some(stored), Some(counter)) = (&self.locked.refresh_token_hmac_key, self.locked.refresh_token_counter)
        else {
            return Ok(RefreshToken { text: cx.entropy.refresh_token(), counter: None });
        };
        let opened = sealing::open(cx, self.session_id, stored)?;
        let key = SessionKey::from_stored(&opened.plain);
        let key = key.ok_or_else(|| Error::internal("Failed to get session's refresh token key"))?;
        let counter = counter + 2;
        let text = SignedToken::encode(self.session_id, counter, &key);
        Ok(RefreshToken { text, counter: Some(counter) })
    }
}

fn entries(shown: &Shown, is_row: bool) -> Vec<Entry> {
    let attempted = Entry::of(Action::VerificationAttempted)
        .with("factor_id", shown.factor_id.to_string())
        .with("challenge_id", shown.challenge_id.to_string())
        .with("factor_type", shown.kind.as_str());
    let mut entries = vec![attempted];
    if is_row {
        entries.push(Entry::of(Action::TokenRevoked));
    }
    entries
}

/// The session with the method that was just shown.
fn with_method(mut session: Session, kind: FactorType, cx: &Cx) -> Session {
    session.aal = Aal::Aal2;
    session.amr.retain(|claim| claim.method != kind.method());
    session.amr.push(AmrClaim { method: kind.method().to_owned(), updated_at: cx.now });
    session
}

async fn refuse<T>(db: Connection) -> Result<T> {
    db.rollback().await?;
    Err(session_gone())
}

fn session_gone() -> Error {
    Error::forbidden("session_not_found", "Session from session_id claim in JWT does not exist")
}

/// Whether the caller has a session, which every route that uses one asks first; the reference answers 500.
pub fn session_of(caller: &Caller) -> Result<&Session> {
    let missing = || Error::internal("A valid session and a registered user are required to enroll a factor");
    caller.session.as_ref().ok_or_else(missing)
}
