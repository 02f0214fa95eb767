//! Security keys: the first challenge has one made, later ones have it used.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::verification::challenge_not_found;
use gotrue_rules::domain::policy::RelyingParty;
use gotrue_rules::domain::user::{Account, Factor};
use gotrue_rules::wire::factor::{
    AnsweredJson, CredentialJson, EnrolledJson, KeyChallengeJson, KeyOptionsJson, LastChallengeJson, PublicKeyJson,
};
use gotrue_rules::wire::requests::{ChallengeFactor, EnrollFactor, VerifyFactor};
use gotrue_rules::wire::webauthn::{CreationOptions, Descriptor, RequestOptions, SessionData, encode};
use serde::Serialize;
use serde_json::Value;

use super::{challenge, enroll, verify};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::sessions::elevate::{self, Shown};
use crate::services::webauthn::{self, Assertion, Refusal, Registration, StoredKey};
use crate::store::challenges::{Kept, NewChallenge};
use crate::store::factors::NewFactor;
use crate::store::webauthn_factors::{self as keys, Answered, Key, Used};

/// A key is made.
const CREATE: &str = "create";
/// A key is used.
const REQUEST: &str = "request";

/// The factor; the key itself comes with the first challenge.
pub(super) async fn enroll(cx: &Cx, request: &EnrollFactor) -> Result<Reply> {
    enroll::make_way(cx, &request.friendly_name, None).await?;
    let id = cx.entropy.uuid();
    let new = NewFactor {
        id,
        user_id: cx.caller()?.account.id,
        friendly_name: &request.friendly_name,
        factor_type: FactorType::WebAuthn,
        phone: None,
        secret: "",
        now: cx.now,
    };
    enroll::store(cx, new).await?;
    Ok(Reply::json(&EnrolledJson {
        id,
        factor_type: FactorType::WebAuthn.as_str(),
        friendly_name: &request.friendly_name,
        totp: None,
        phone: None,
    }))
}

/// What the browser is to ask its authenticator for: a new key, or one of those that the account has.
pub(super) async fn challenge(cx: &Cx, factor: &Factor) -> Result<Reply> {
    ChallengeFactor::decode(&cx.bytes().await?)?;
    let party = relying_party(cx)?;
    let account = &cx.caller()?.account;
    let known = keys::of_account(&mut cx.db(), account.id).await?;
    let text = webauthn::challenge(cx);
    let handle = webauthn::handle(account.id);
    if !factor.is_verified() {
        let email = account.email.as_deref().unwrap_or_default();
        let user = webauthn::user(account, email, email);
        let unnamed = || Error::internal("Failed to generate WebAuthn registration data");
        let mut options = CreationOptions::new(webauthn::party(party).ok_or_else(unnamed)?, user, &text);
        let ways = || vec!["usb".to_owned(), "nfc".to_owned()];
        options.exclude_credentials = known.iter().map(|key| Descriptor::of(&key.record.id, ways())).collect();
        let session = SessionData::of_creation(&party.id, &text, &handle, None);
        return store(cx, factor, &session, options).await;
    }
    if known.is_empty() {
        return Err(Error::other("the verified factor has no key: it must be set up anew"));
    }
    let mut options = RequestOptions::new(&party.id, &text);
    let ways = |key: &Key| key.record.transport.clone().unwrap_or_default();
    options.allow_credentials = known.iter().map(|key| Descriptor::of(&key.record.id, ways(key))).collect();
    let ids = known.iter().map(|key| key.record.id.as_slice());
    let session = SessionData::of_request(&party.id, &text, None).among(&handle, ids);
    store(cx, factor, &session, options).await
}

async fn store<O: Serialize>(cx: &Cx, factor: &Factor, session: &SessionData, options: O) -> Result<Reply> {
    let new = NewChallenge {
        id: cx.entropy.uuid(),
        factor_id: factor.id,
        now: cx.now,
        address: cx.address(),
        otp_code: "",
        session: Some(session),
        audit: Vec::new(),
    };
    let challenge = challenge::insert(cx, factor, new).await?;
    let kind = if session.is_creation() { CREATE } else { REQUEST };
    let credential_options = PublicKeyJson { public_key: options };
    Ok(Reply::json(&KeyChallengeJson { challenge, webauthn: KeyOptionsJson { kind, credential_options } }))
}

/// The session, lifted. A challenge stays good until it is answered rightly.
pub(super) async fn verify(cx: &Cx, factor: &Factor, request: &VerifyFactor) -> Result<Reply> {
    let (kind, credential) = said(request)?;
    let party = relying_party(cx)?;
    let kept = verify::kept(cx, factor, request.challenge_id).await?;
    let session = kept.session.as_ref().ok_or_else(challenge_not_found)?;
    let proof = match kind {
        CREATE => made(party, session, credential),
        _ => used(cx, party, session, credential).await,
    }?;
    // The key of an unverified factor is made, that of a verified one is used: nobody brings a key of his own to a
    // factor that has one.
    if (kind == CREATE) != session.is_creation() || session.is_creation() == factor.is_verified() {
        return Err(Error::invalid("type does not fit the challenge: ask for another challenge"));
    }
    finish(cx, factor, &kept, session, proof).await
}

/// What the page says that the key did, and what the key says.
fn said(request: &VerifyFactor) -> Result<(&'static str, &Value)> {
    let answer = request.webauthn.as_ref().ok_or_else(|| Error::invalid("WebAuthn config required"))?;
    let kind = match answer.kind.as_str() {
        CREATE => CREATE,
        REQUEST => REQUEST,
        _ => return Err(Error::invalid("WebAuthn type must be create or request")),
    };
    let credential = answer.credential_response.as_ref();
    Ok((kind, credential.ok_or_else(|| Error::invalid("credential_response required"))?))
}

/// What a right answer has shown.
enum Proof {
    Made(Box<webauthn::NewKey>),
    Used { key: Box<Key>, counter: u32 },
}

fn made(party: &RelyingParty, session: &SessionData, credential: &Value) -> Result<Proof> {
    let registration = Registration::read(credential).map_err(unreadable)?;
    let key = registration.accept(party, session).map_err(|cause| match cause {
        Refusal::Unreadable(_) => unreadable(cause),
        Refusal::Refused(_) | Refusal::CounterFellBack { .. } => Error::other(cause),
    })?;
    Ok(Proof::Made(Box::new(key)))
}

async fn used(cx: &Cx, party: &RelyingParty, session: &SessionData, credential: &Value) -> Result<Proof> {
    let assertion = Assertion::read(credential).map_err(unreadable)?;
    let account = &cx.caller()?.account;
    let known = keys::of_account(&mut cx.db(), account.id).await?;
    let key = known.into_iter().find(|key| key.record.id == assertion.key_id());
    let key = key.filter(|_| is_asked(session, account, &assertion));
    let key = key.ok_or_else(|| failed("the key is none of those that were asked for"))?;
    let stored = StoredKey {
        public_key: &key.record.public_key,
        counter: key.record.authenticator.sign_count,
        backup_eligible: key.record.flags.backup_eligible,
        backed_up: key.record.flags.backup_state,
    };
    let counter = assertion.accept(party, session, stored, &cx.app.policy.webauthn).map_err(failed)?;
    Ok(Proof::Used { key: Box::new(key), counter })
}

/// Whether the key was among those asked for, and says nothing else of whose it is.
fn is_asked(session: &SessionData, account: &Account, assertion: &Assertion) -> bool {
    let is_own = assertion.user_handle().is_none_or(|handle| handle == webauthn::handle(account.id).as_bytes());
    is_own && session.allows(assertion.key_id())
}

/// Uses the challenge up, keeps what the key told, and lifts the session; of two at once one is told that the challenge
/// is gone.
async fn finish(cx: &Cx, factor: &Factor, kept: &Kept, session: &SessionData, proof: Proof) -> Result<Reply> {
    let (record, aaguid) = match &proof {
        Proof::Made(key) => (Some(key.record()), Some(key.aaguid)),
        Proof::Used { .. } => (None, None),
    };
    let (kind, id) = match &proof {
        Proof::Made(key) => (CREATE, encode(&key.id)),
        Proof::Used { key, .. } => (REQUEST, encode(&key.record.id)),
    };
    let last = LastChallengeJson {
        challenge: AnsweredJson {
            challenge_id: kept.challenge.id,
            factor_id: factor.id,
            created_at: kept.challenge.created_at,
            ip_address: cx.address().to_string(),
            web_authn_session_data: session,
        },
        kind,
        credential_response: CredentialJson { id: &id, raw_id: &id, kind: "public-key" },
    };
    let challenge_id = kept.challenge.id;
    let answered =
        Answered { challenge_id, factor_id: factor.id, made: record.as_ref().zip(aaguid), last: &last, now: cx.now };
    let mut elevation = elevate::begin(cx).await?;
    let mut is_done = keys::spend(&mut elevation.db, answered).await?;
    if let Proof::Used { key, counter } = &proof {
        let relied_on = key.record.authenticator.sign_count;
        let alone = cx.app.policy.webauthn.counter_must_grow;
        let used = Used { factor_id: key.factor_id, relied_on, came: *counter, alone };
        is_done = is_done && keys::used(&mut elevation.db, used).await?;
    }
    if !is_done {
        elevation.give_up().await?;
        return Err(challenge_not_found());
    }
    verify::lift(cx, factor, elevation, Shown { factor_id: factor.id, kind: FactorType::WebAuthn, challenge_id }).await
}

/// Who we are to an authenticator; 500 if the operator did not say.
fn relying_party(cx: &Cx) -> Result<&RelyingParty> {
    webauthn::relying_party(cx).map_err(Error::other)
}

fn unreadable(cause: Refusal) -> Error {
    Error::invalid("Invalid credential_response").because(cause)
}

fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::internal("Failed to validate WebAuthn MFA response").because(cause)
}
