//! Passkeys: made by a signed-in account, used by whoever holds one, listed, renamed and deleted by their owner.

pub mod authentication;
pub mod delete;
pub mod list;
pub mod registration;
pub mod rename;

use bytes::Bytes;
use chrono::TimeDelta;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::passkey::{named_by, not_found};
use gotrue_rules::domain::policy::RelyingParty;
use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::webauthn::{SessionData, UserVerification};
use uuid::Uuid;

use crate::cx::Cx;
use crate::services::webauthn::{self, Refusal};
use crate::store::OrRefuse;
use crate::store::passkeys::Of;
use crate::store::webauthn_challenges::{self as challenges, For, NewChallenge};

/// The body; these routes have words of their own for one that cannot be read.
async fn body(cx: &Cx) -> Result<Bytes> {
    cx.bytes().await.map_err(|cause| Error::bad_request("bad_json", "Could not read request body").because(cause))
}

/// Who we are to an authenticator; 500 if the operator did not say.
fn relying_party(cx: &Cx) -> Result<&RelyingParty> {
    webauthn::relying_party(cx).map_err(|cause| Error::internal("Failed to initialize WebAuthn").because(cause))
}

/// What authenticators are asked to make sure of.
fn user_verification(cx: &Cx) -> UserVerification {
    if cx.app.policy.passkeys.user_verification_required {
        return UserVerification::Required;
    }
    UserVerification::Preferred
}

/// A challenge under a new id, and when it ends.
async fn store(cx: &Cx, purpose: For, session: &SessionData) -> Result<(Uuid, Time)> {
    let life = TimeDelta::from_std(cx.app.policy.webauthn.challenge_expiry).unwrap_or(TimeDelta::MAX);
    let expires_at = cx.now.checked_add_signed(life).unwrap_or(Time::MAX_UTC);
    let id = cx.entropy.uuid();
    let new = NewChallenge { id, purpose, session, now: cx.now, expires_at };
    challenges::insert(&mut cx.db(), new).await.or_refuse("Database error storing challenge")?;
    Ok((id, expires_at))
}

/// The challenge of that id, which nobody can use again, also if what follows is refused.
async fn use_up(cx: &Cx, id: Uuid, purpose: For) -> Result<SessionData> {
    let found = challenges::use_up(&mut cx.db(), id, purpose).await.or_refuse("Database error consuming challenge")?;
    let (session, expires_at) = found
        .ok_or_else(|| Error::bad_request("webauthn_challenge_not_found", "Challenge not found or already used"))?;
    if cx.now > expires_at {
        return Err(Error::bad_request("webauthn_challenge_expired", "Challenge has expired"));
    }
    Ok(session)
}

/// 400: what came is no answer to the challenge.
fn refused(cause: Refusal) -> Error {
    let message = match cause {
        Refusal::Unreadable(_) => "Invalid credential response",
        Refusal::Refused(_) | Refusal::CounterFellBack { .. } => "Credential verification failed",
    };
    Error::bad_request("webauthn_verification_failed", message).because(cause)
}

/// The passkey that the path names, as one of the caller's.
fn of_caller(cx: &Cx) -> Result<Of> {
    let named = cx.request.param("passkey_id").ok_or_else(not_found)?;
    Ok(Of { id: named_by(named)?, user_id: cx.caller()?.account.id })
}
