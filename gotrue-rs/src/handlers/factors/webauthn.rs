//! WebAuthn factors: the first challenge registers a credential, later ones authenticate with it.

use foundation::error::{Error, Result};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::verification::challenge_not_found;
use gotrue_rules::domain::policy::RelyingParty;
use gotrue_rules::domain::user::{Factor, User};
use gotrue_rules::wire::factor::{
    CredentialJson, EnrolledJson, LastChallengeJson, PublicKeyOptionsJson, VerifiedChallengeJson,
    WebAuthnChallengeJson, WebAuthnOptionsJson,
};
use gotrue_rules::wire::requests::{ChallengeFactor, EnrollFactor, VerifyFactor};
use gotrue_rules::wire::webauthn::{
    CreationOptions, CredentialDescriptor, RequestOptions, SessionData, encode_base64url,
};
use serde::Serialize;
use serde_json::Value;

use super::{answered_challenge, enrolled_factor, issued_challenge};
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::sessions::elevate::{self, VerifiedFactor};
use crate::services::webauthn::{self, AssertionResponse, CeremonyError, RegistrationResponse, StoredCredential};
use crate::store::challenges::{ChallengeWithSecret, NewFactorChallenge};
use crate::store::factors::NewFactor;
use crate::store::webauthn_factors::{self as keys, ConsumedWebauthnChallenge, WebauthnKey, WebauthnKeyUse};

/// The ceremony type of a registration.
const CREATE: &str = "create";
/// The ceremony type of an authentication.
const REQUEST: &str = "request";

/// Enrolls a WebAuthn factor; the first challenge registers its credential.
pub(super) async fn enroll(cx: &RequestContext, caller: &Caller, request: &EnrollFactor) -> Result<Reply> {
    enrolled_factor::prepare_enrollment(cx, caller, &request.friendly_name, None).await?;
    let id = cx.entropy.uuid();
    let new = NewFactor {
        id,
        user_id: caller.user.id,
        friendly_name: &request.friendly_name,
        factor_type: FactorType::WebAuthn,
        phone: None,
        secret: "",
        now: cx.now,
    };
    enrolled_factor::store_factor(cx, caller, new).await?;
    Ok(Reply::json(&EnrolledJson {
        id,
        factor_type: FactorType::WebAuthn.as_str(),
        friendly_name: &request.friendly_name,
        totp: None,
        phone: None,
    }))
}

/// Issues a challenge.
///
/// It holds the options of a registration for an unverified factor, else those of an authentication.
pub(super) async fn challenge(cx: &RequestContext, user: &User, factor: &Factor) -> Result<Reply> {
    ChallengeFactor::decode(&cx.read_body().await?)?;
    let party = require_relying_party(cx)?;
    let known = keys::list_by_user(&mut cx.db(), user.id).await?;
    let text = webauthn::generate_challenge(cx);
    let handle = webauthn::user_handle(user.id);
    if !factor.is_verified() {
        let email = user.email.as_deref().unwrap_or_default();
        let entity = webauthn::user_entity(user, email, email);
        let unnamed = || Error::internal("Failed to generate WebAuthn registration data");
        let mut options =
            CreationOptions::new(webauthn::relying_party_entity(party).ok_or_else(unnamed)?, entity, &text);
        let ways = || vec!["usb".to_owned(), "nfc".to_owned()];
        options.exclude_credentials =
            known.iter().map(|key| CredentialDescriptor::new(&key.record.id, ways())).collect();
        let session = SessionData::for_creation(&party.id, &text, &handle, None);
        return store_challenge(cx, factor, &session, options).await;
    }
    if known.is_empty() {
        return Err(Error::other("the verified factor has no credential"));
    }
    let mut options = RequestOptions::new(&party.id, &text);
    let ways = |key: &WebauthnKey| key.record.transport.clone().unwrap_or_default();
    options.allow_credentials = known.iter().map(|key| CredentialDescriptor::new(&key.record.id, ways(key))).collect();
    let ids = known.iter().map(|key| key.record.id.as_slice());
    let session = SessionData::for_request(&party.id, &text, None).with_allowed_credentials(&handle, ids);
    store_challenge(cx, factor, &session, options).await
}

async fn store_challenge<O: Serialize>(
    cx: &RequestContext,
    factor: &Factor,
    session: &SessionData,
    options: O,
) -> Result<Reply> {
    let new = NewFactorChallenge {
        id: cx.entropy.uuid(),
        factor_id: factor.id,
        now: cx.now,
        address: cx.client_ip_or_unspecified(),
        otp_code: "",
        session: Some(session),
        audit: Vec::new(),
    };
    let challenge = issued_challenge::insert_challenge(cx, factor, new).await?;
    let kind = if session.is_creation() { CREATE } else { REQUEST };
    let credential_options = PublicKeyOptionsJson { public_key: options };
    Ok(Reply::json(&WebAuthnChallengeJson { challenge, webauthn: WebAuthnOptionsJson { kind, credential_options } }))
}

/// Verifies the browser's response and raises the session.
///
/// A challenge stays valid until it is answered correctly.
pub(super) async fn verify(
    cx: &RequestContext,
    caller: &Caller,
    factor: &Factor,
    request: &VerifyFactor,
) -> Result<Reply> {
    let (kind, credential) = parse_response(request)?;
    let party = require_relying_party(cx)?;
    let stored = answered_challenge::load_challenge(cx, factor, request.challenge_id).await?;
    let session = stored.session.as_ref().ok_or_else(challenge_not_found)?;
    let ceremony = match kind {
        CREATE => verify_registration(party, session, credential),
        _ => verify_authentication(cx, &caller.user, party, session, credential).await,
    }?;
    // An unverified factor registers a credential, a verified one authenticates with its credential: no other
    // credential may replace it.
    if (kind == CREATE) != session.is_creation() || session.is_creation() == factor.is_verified() {
        return Err(Error::invalid("type does not fit the challenge: ask for another challenge"));
    }
    finish_verification(cx, caller, factor, &stored, session, ceremony).await
}

/// The ceremony type and the credential of the request.
fn parse_response(request: &VerifyFactor) -> Result<(&'static str, &Value)> {
    let answer = request.webauthn.as_ref().ok_or_else(|| Error::invalid("WebAuthn config required"))?;
    let kind = match answer.kind.as_str() {
        CREATE => CREATE,
        REQUEST => REQUEST,
        _ => return Err(Error::invalid("WebAuthn type must be create or request")),
    };
    let credential = answer.credential_response.as_ref();
    Ok((kind, credential.ok_or_else(|| Error::invalid("credential_response required"))?))
}

/// The result of a verified ceremony.
enum VerifiedCeremony {
    Registered(Box<webauthn::RegisteredCredential>),
    Authenticated { key: Box<WebauthnKey>, counter: u32 },
}

fn verify_registration(party: &RelyingParty, session: &SessionData, credential: &Value) -> Result<VerifiedCeremony> {
    let registration = RegistrationResponse::parse(credential).map_err(unreadable_error)?;
    let key = registration.verify(party, session).map_err(|cause| match cause {
        CeremonyError::Unreadable(_) => unreadable_error(cause),
        CeremonyError::Rejected(_) | CeremonyError::ClientData(_) | CeremonyError::CounterRegressed { .. } => {
            Error::other(cause)
        }
    })?;
    Ok(VerifiedCeremony::Registered(Box::new(key)))
}

async fn verify_authentication(
    cx: &RequestContext,
    user: &User,
    party: &RelyingParty,
    session: &SessionData,
    credential: &Value,
) -> Result<VerifiedCeremony> {
    let assertion = AssertionResponse::read(credential).map_err(unreadable_error)?;
    let known = keys::list_by_user(&mut cx.db(), user.id).await?;
    let key = known.into_iter().find(|key| key.record.id == assertion.credential_id());
    let key = key.filter(|_| is_allowed(session, user, &assertion));
    let key = key.ok_or_else(|| verification_failed("the credential is not among the allowed ones"))?;
    let stored = StoredCredential {
        public_key: &key.record.public_key,
        counter: key.record.authenticator.sign_count,
        backup_eligible: key.record.flags.backup_eligible,
        backed_up: key.record.flags.backup_state,
    };
    let counter = assertion.accept(party, session, stored, &cx.app.policy.webauthn).map_err(verification_failed)?;
    Ok(VerifiedCeremony::Authenticated { key: Box::new(key), counter })
}

/// Whether the challenge allows the credential and the user handle, if any, is the user's.
fn is_allowed(session: &SessionData, user: &User, assertion: &AssertionResponse) -> bool {
    let is_own = assertion.user_handle().is_none_or(|handle| handle == webauthn::user_handle(user.id).as_bytes());
    is_own && session.allows(assertion.credential_id())
}

/// Consumes the challenge, stores the result and raises the session.
///
/// Of two concurrent requests, one gets the error of an unknown challenge.
async fn finish_verification(
    cx: &RequestContext,
    caller: &Caller,
    factor: &Factor,
    stored: &ChallengeWithSecret,
    session: &SessionData,
    ceremony: VerifiedCeremony,
) -> Result<Reply> {
    let (record, aaguid) = match &ceremony {
        VerifiedCeremony::Registered(key) => (Some(key.to_record()), Some(key.aaguid)),
        VerifiedCeremony::Authenticated { .. } => (None, None),
    };
    let (kind, id) = match &ceremony {
        VerifiedCeremony::Registered(key) => (CREATE, encode_base64url(&key.id)),
        VerifiedCeremony::Authenticated { key, .. } => (REQUEST, encode_base64url(&key.record.id)),
    };
    let last = LastChallengeJson {
        challenge: VerifiedChallengeJson {
            challenge_id: stored.challenge.id,
            factor_id: factor.id,
            created_at: stored.challenge.created_at,
            ip_address: cx.client_ip_or_unspecified().to_string(),
            web_authn_session_data: session,
        },
        kind,
        credential_response: CredentialJson { id: &id, raw_id: &id, kind: "public-key" },
    };
    let challenge_id = stored.challenge.id;
    let answered = ConsumedWebauthnChallenge {
        challenge_id,
        factor_id: factor.id,
        registered_key: record.as_ref().zip(aaguid),
        last_challenge_data: &last,
        now: cx.now,
    };
    let mut elevation = elevate::begin_elevation(cx, caller).await?;
    let mut is_done = keys::consume_challenge(&mut elevation.db, answered).await?;
    if let VerifiedCeremony::Authenticated { key, counter } = &ceremony {
        let relied_on = key.record.authenticator.sign_count;
        let alone = cx.app.policy.webauthn.counter_must_increase;
        let used = WebauthnKeyUse {
            factor_id: key.factor_id,
            expected_sign_count: relied_on,
            new_sign_count: *counter,
            is_exclusive: alone,
        };
        is_done = is_done && keys::record_use(&mut elevation.db, used).await?;
    }
    if !is_done {
        elevation.rollback().await?;
        return Err(challenge_not_found());
    }
    answered_challenge::raise_session(
        cx,
        factor,
        elevation,
        VerifiedFactor::by_challenge(factor.id, FactorType::WebAuthn, challenge_id),
    )
    .await
}

/// The relying party; 500 if the operator configured none.
fn require_relying_party(cx: &RequestContext) -> Result<&RelyingParty> {
    webauthn::relying_party(cx).map_err(Error::other)
}

fn unreadable_error(cause: CeremonyError) -> Error {
    Error::invalid("Invalid credential_response").with_cause(cause)
}

fn verification_failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::internal("Failed to validate WebAuthn MFA response").with_cause(cause)
}
