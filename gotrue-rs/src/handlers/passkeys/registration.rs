//! `POST /passkeys/registration/options` and `…/verify`: registers a passkey of the signed-in user.

use std::sync::Arc;

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::passkey::{default_name, too_many_passkeys, validate_registration};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::passkey::{PasskeyChallengeJson, PasskeyJson};
use gotrue_rules::wire::requests::PasskeyVerification;
use gotrue_rules::wire::webauthn::{AuthenticatorSelection, CreationOptions, CredentialDescriptor, SessionData};
use platform::store::OrInternalError;

use super::{
    consume_challenge, read_body, require_relying_party, store_challenge, user_verification_requirement,
    verification_error,
};
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::webauthn::{RegisteredCredential, RegistrationResponse};
use crate::services::{audit, webauthn};
use crate::store::passkeys::{self, NewPasskey};
use crate::store::webauthn_challenges::CeremonyPurpose;

/// Returns the options for `navigator.credentials.create()`.
pub async fn options(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let user = require_permission(&caller)?;
    let known =
        passkeys::list_by_user(&mut cx.db(), user.id).await.or_internal_error("Database error loading passkeys")?;
    if known.len() >= cx.app.policy.passkeys.max_per_user {
        return Err(too_many_passkeys());
    }
    let party = require_relying_party(&cx)?;
    let unnamed = || Error::internal("Failed to generate WebAuthn registration options");
    let user_verification = Some(user_verification_requirement(&cx));
    let challenge = webauthn::generate_challenge(&cx);
    let entity = webauthn::user_entity(user, webauthn::address_or_number(user), webauthn::display_name(user));
    let mut options =
        CreationOptions::new(webauthn::relying_party_entity(party).ok_or_else(unnamed)?, entity, &challenge);
    options.exclude_credentials =
        known.iter().map(|key| CredentialDescriptor::new(&key.credential_id, Vec::new())).collect();
    options.authenticator_selection = AuthenticatorSelection { resident_key: Some("required"), user_verification };
    options.attestation = Some("none");
    let session = SessionData::for_creation(&party.id, &challenge, &webauthn::user_handle(user.id), user_verification);
    let (challenge_id, expires_at) = store_challenge(&cx, CeremonyPurpose::Registration(user.id), &session).await?;
    Ok(Reply::json(&PasskeyChallengeJson { challenge_id, options, expires_at: expires_at.timestamp() }))
}

/// Verifies the browser's response and stores the passkey.
pub async fn verify(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let user = require_permission(&caller)?;
    let request = PasskeyVerification::decode(&read_body(&cx).await?)?;
    let session = consume_challenge(&cx, request.challenge_id, CeremonyPurpose::Registration(user.id)).await?;
    let registration = RegistrationResponse::parse(&request.credential).map_err(verification_error)?;
    let key = registration.verify(require_relying_party(&cx)?, &session).map_err(verification_error)?;
    store_passkey(&cx, user, &key).await
}

/// The signed-in user, if another passkey may be registered.
fn require_permission(caller: &Caller) -> Result<&User> {
    validate_registration(&caller.user, caller.session.as_ref())?;
    Ok(&caller.user)
}

async fn store_passkey(cx: &RequestContext, user: &User, key: &RegisteredCredential) -> Result<Reply> {
    let (id, friendly_name) = (cx.entropy.uuid(), default_name(key.aaguid));
    let entry = AuditEntry::new(AuditAction::PasskeyCreated).with_trait("passkey_id", id.to_string());
    let new = NewPasskey {
        id,
        user_id: user.id,
        credential_id: &key.id,
        public_key: &key.public_key,
        attestation_type: &key.format,
        aaguid: key.aaguid,
        sign_count: key.counter,
        transports: key.transports.as_deref().unwrap_or_default(),
        backup_eligible: key.backup_eligible,
        backed_up: key.backed_up,
        friendly_name,
        now: cx.now,
        audit: audit::build_rows(cx, user, [entry]),
    };
    let mut db = cx.begin().await?;
    let most = cx.app.policy.passkeys.max_per_user;
    if !passkeys::insert(&mut db, new, most).await.or_internal_error("Database error creating passkey")? {
        return Err(too_many_passkeys());
    }
    db.commit().await?;
    Ok(Reply::json(&PasskeyJson { id, friendly_name, created_at: cx.now, last_used_at: None }))
}
