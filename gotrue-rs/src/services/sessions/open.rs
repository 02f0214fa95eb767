//! Opening a session: the one way in which a proof becomes tokens.

use gotrue_rules::domain::audit::Entry;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::refresh::{SessionKey, SignedToken};
use gotrue_rules::domain::session::{Aal, AmrClaim, Session};
use gotrue_rules::domain::user::{Account, Time};
use uuid::Uuid;

use super::{Fresh, Minted, RefreshToken, claims, sign};
use crate::cx::Cx;
use crate::services::{audit, sealing};
use crate::store::sessions::NewSession;
use crate::store::{Connection, OrRefuse, sessions};

/// What a grant has shown: whose session it may open, and how.
#[derive(Debug)]
pub struct Proof<'a> {
    /// The account, as it was read.
    pub account: &'a Account,
    /// The method, as `amr` names it.
    pub method: &'a str,
    /// What the audit log is told.
    pub audit: Vec<Entry>,
    /// An end of the session's own.
    pub not_after: Option<Time>,
    /// The password hash that was compared: a password changed meanwhile opens nothing.
    pub relied_on: Option<&'a str>,
    /// The OAuth client that the session is for; none for the account's own.
    pub oauth_client: Option<Uuid>,
    /// What that client was allowed, space-joined.
    pub scopes: Option<&'a str>,
}

impl<'a> Proof<'a> {
    /// A proof without extras.
    pub fn new(account: &'a Account, method: &'a str, audit: Vec<Entry>) -> Self {
        Self { account, method, audit, not_after: None, relied_on: None, oauth_client: None, scopes: None }
    }
}

/// Opens a session and mints its first tokens. On a pooled connection this is one statement.
pub async fn open(cx: &Cx, db: &mut Connection, proof: Proof<'_>) -> Result<Minted> {
    let minted = open_if_unchanged(cx, db, proof).await?;
    minted.ok_or_else(|| Error::internal("Database error granting user"))
}

/// The same, or none if the account is no longer what the proof relied on.
pub async fn open_if_unchanged(cx: &Cx, db: &mut Connection, proof: Proof<'_>) -> Result<Option<Minted>> {
    if cx.app.policy.sessions.banned_get_none && proof.account.is_banned(cx.now) {
        return Err(Error::forbidden("user_banned", "User is banned"));
    }
    if db.is_transaction() || !cx.app.hooks.is_in_database(HookKind::CustomAccessToken) {
        return write(cx, db, proof).await;
    }
    // The function sees the session, which is gone again if it refuses.
    let mut db = cx.begin().await?;
    let minted = write(cx, &mut db, proof).await?;
    db.commit().await?;
    Ok(minted)
}

/// A hook outside is asked before the write, since it sees nothing of it: on a pooled connection none is held then.
async fn write(cx: &Cx, db: &mut Connection, proof: Proof<'_>) -> Result<Option<Minted>> {
    let id = cx.entropy.uuid();
    let (refresh_token, hmac_key) = first_token(cx, id);
    let new = NewSession {
        id,
        user_id: proof.account.id,
        now: cx.now,
        not_after: proof.not_after,
        user_agent: cx.request.user_agent(),
        ip: cx.client_ip(),
        oauth_client_id: proof.oauth_client,
        scopes: proof.scopes.map(str::to_owned),
        refresh_token: refresh_token.counter.is_none().then(|| refresh_token.text.clone()),
        hmac_key,
        amr_id: cx.entropy.uuid(),
        method: proof.method.to_owned(),
        relied_on: proof.relied_on.map(str::to_owned),
        audit: audit::rows(cx, proof.account, proof.audit),
    };
    let session = as_opened(&new);
    let asked = if cx.app.hooks.is_http(HookKind::CustomAccessToken) {
        Some(claims(cx, db, (proof.account, &session), proof.method).await?)
    } else {
        None
    };
    let opened = sessions::open(db, new).await.or_refuse("Database error granting user")?;
    let Some(mut account) = opened else { return Ok(None) };
    let claims = if let Some(claims) = asked {
        claims
    } else {
        // As recorded: what joined the account with this very sign-in is not among the identities that claims see.
        let stored = std::mem::replace(&mut account.identities, proof.account.identities.clone());
        let claims = claims(cx, db, (&account, &session), proof.method).await?;
        account.identities = stored;
        claims
    };
    sign(cx, claims, Fresh { account, session, refresh_token }).map(Some)
}

/// The session as its row will be.
fn as_opened(new: &NewSession) -> Session {
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

/// The first refresh token in the configured version, and the key of a session of version 2 as it is stored.
fn first_token(cx: &Cx, session: Uuid) -> (RefreshToken, Option<String>) {
    if cx.app.policy.refresh.algorithm_version == 2 {
        let key = SessionKey::new(cx.entropy.bytes());
        let text = SignedToken::encode(session, 0, &key);
        return (RefreshToken { text, counter: Some(0) }, Some(sealing::seal(cx, session, &key.stored())));
    }
    (RefreshToken { text: cx.entropy.refresh_token(), counter: None }, None)
}
