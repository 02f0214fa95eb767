//! Passkeys: registration by a signed-in user, authentication, and management by their user.

pub mod authentication;
pub mod delete;
pub mod list;
pub mod registration;
pub mod rename;

use bytes::Bytes;
use chrono::TimeDelta;
use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use gotrue_rules::domain::passkey::{parse_id, passkey_not_found};
use gotrue_rules::domain::policy::RelyingParty;
use gotrue_rules::wire::webauthn::{SessionData, UserVerification};
use platform::store::OrInternalError;
use uuid::Uuid;

use crate::request_context::RequestContext;
use crate::services::webauthn::{self, CeremonyError};
use crate::store::passkeys::PasskeyRef;
use crate::store::webauthn_challenges::{self as challenges, CeremonyPurpose, NewWebauthnChallenge};

/// Reads the body; these routes have their own error for an unreadable one.
async fn read_body(cx: &RequestContext) -> Result<Bytes> {
    cx.read_body()
        .await
        .map_err(|cause| Error::new(ErrorCode::BadJson, "Could not read request body").with_cause(cause))
}

/// The relying party; 500 if the operator configured none.
fn require_relying_party(cx: &RequestContext) -> Result<&RelyingParty> {
    webauthn::relying_party(cx).map_err(|cause| Error::internal("Failed to initialize WebAuthn").with_cause(cause))
}

/// The configured requirement of user verification.
fn user_verification_requirement(cx: &RequestContext) -> UserVerification {
    if cx.app.policy.passkeys.requires_user_verification {
        return UserVerification::Required;
    }
    UserVerification::Preferred
}

/// Stores a challenge under a new id and returns its expiry.
async fn store_challenge(cx: &RequestContext, purpose: CeremonyPurpose, session: &SessionData) -> Result<(Uuid, Time)> {
    let life = TimeDelta::from_std(cx.app.policy.webauthn.challenge_expiry).unwrap_or(TimeDelta::MAX);
    let expires_at = cx.now.checked_add_signed(life).unwrap_or(Time::MAX_UTC);
    let id = cx.entropy.uuid();
    let new = NewWebauthnChallenge { id, purpose, session, now: cx.now, expires_at };
    challenges::insert(&mut cx.db(), new).await.or_internal_error("Database error storing challenge")?;
    Ok((id, expires_at))
}

/// Consumes the challenge of this id, also if a later step fails.
async fn consume_challenge(cx: &RequestContext, id: Uuid, purpose: CeremonyPurpose) -> Result<SessionData> {
    let found =
        challenges::consume(&mut cx.db(), id, purpose).await.or_internal_error("Database error consuming challenge")?;
    let (session, expires_at) =
        found.ok_or_else(|| Error::new(ErrorCode::WebAuthnChallengeNotFound, "Challenge not found or already used"))?;
    if cx.now > expires_at {
        return Err(Error::new(ErrorCode::WebAuthnChallengeExpired, "Challenge has expired"));
    }
    Ok(session)
}

/// 400: the response does not answer the challenge.
fn verification_error(cause: CeremonyError) -> Error {
    let message = match cause {
        CeremonyError::Unreadable(_) => "Invalid credential response",
        CeremonyError::Rejected(_) | CeremonyError::ClientData(_) | CeremonyError::CounterRegressed { .. } => {
            "Credential verification failed"
        }
    };
    Error::new(ErrorCode::WebAuthnVerificationFailed, message).with_cause(cause)
}

/// The passkey named in the path, as one of this user's.
fn path_passkey(cx: &RequestContext, user_id: Uuid) -> Result<PasskeyRef> {
    let named = cx.request.path_param("passkey_id").ok_or_else(passkey_not_found)?;
    Ok(PasskeyRef { id: parse_id(named)?, user_id })
}
