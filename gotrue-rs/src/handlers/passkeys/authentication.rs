//! `POST /passkeys/authentication/options` and `…/verify`: sign-in with a discoverable credential.

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::passkey::validate_sign_in;
use gotrue_rules::wire::passkey::PasskeyChallengeJson;
use gotrue_rules::wire::requests::PasskeyVerification;
use gotrue_rules::wire::webauthn::{RequestOptions, SessionData};
use platform::store::OrInternalError;

use super::{
    consume_challenge, read_body, require_relying_party, store_challenge, user_verification_requirement,
    verification_error,
};
use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::sessions::create::{Authentication, create_session};
use crate::services::sessions::{self, SessionExtras};
use crate::services::webauthn::{self, AssertionResponse, StoredCredential};
use crate::store::passkeys::{self, OwnedPasskey, PasskeyUse};
use crate::store::webauthn_challenges::CeremonyPurpose;

/// The method in the claim `amr`.
const AMR_METHOD: &str = "passkey";

/// Returns the options for `navigator.credentials.get()`.
pub async fn options(cx: RequestContext) -> Result<Reply> {
    let party = require_relying_party(&cx)?;
    let user_verification = Some(user_verification_requirement(&cx));
    let challenge = webauthn::generate_challenge(&cx);
    let mut options = RequestOptions::new(&party.id, &challenge);
    options.user_verification = user_verification;
    let session = SessionData::for_request(&party.id, &challenge, user_verification);
    let (challenge_id, expires_at) = store_challenge(&cx, CeremonyPurpose::Authentication, &session).await?;
    Ok(Reply::json(&PasskeyChallengeJson { challenge_id, options, expires_at: expires_at.timestamp() }))
}

/// Verifies the browser's response and returns a session of the passkey's user.
pub async fn verify(cx: RequestContext) -> Result<Reply> {
    let request = PasskeyVerification::decode(&read_body(&cx).await?)?;
    let session = consume_challenge(&cx, request.challenge_id, CeremonyPurpose::Authentication).await?;
    let assertion = AssertionResponse::read(&request.credential).map_err(verification_error)?;
    let (passkey, sign_count) = verify_assertion(&cx, &session, &assertion).await?;
    validate_sign_in(&passkey.user, cx.now)?;
    let used = PasskeyUse {
        id: passkey.id,
        expected_sign_count: passkey.sign_count,
        sign_count,
        is_exclusive: cx.app.policy.webauthn.counter_must_increase,
        now: cx.now,
    };
    let entry = AuditEntry::new(AuditAction::Login).with_trait("passkey_id", passkey.id.to_string());
    let mut db = sessions::begin_token_transaction(&cx).await?;
    if !passkeys::record_use(&mut db, used).await? {
        return Err(verification_failed("the passkey was used or deleted by a concurrent request"));
    }
    let issued = create_session(&cx, &mut db, Authentication::new(&passkey.user, AMR_METHOD, vec![entry])).await?;
    db.commit().await?;
    Ok(issued.reply(SessionExtras::default()))
}

/// Verifies the response and returns the passkey and its signature counter.
async fn verify_assertion(
    cx: &RequestContext,
    session: &SessionData,
    assertion: &AssertionResponse,
) -> Result<(OwnedPasskey, u32)> {
    let party = require_relying_party(cx)?;
    let owner = assertion.user_handle_id().ok_or_else(|| verification_failed("the user handle names no account"))?;
    let found = passkeys::find_by_credential(&mut cx.db(), assertion.credential_id(), owner).await;
    let passkey = found.or_internal_error("Database error loading passkey")?;
    let passkey = passkey.ok_or_else(|| verification_failed("the account has no such passkey"))?;
    let key = StoredCredential {
        public_key: &passkey.public_key,
        counter: passkey.sign_count,
        backup_eligible: passkey.backup_eligible,
        backed_up: passkey.backed_up,
    };
    let counter = assertion.accept(party, session, key, &cx.app.policy.webauthn).map_err(verification_error)?;
    Ok((passkey, counter))
}

fn verification_failed(cause: &'static str) -> Error {
    Error::new(ErrorCode::WebAuthnVerificationFailed, "Credential verification failed").with_cause(cause)
}
