//! WebAuthn credentials, for passkeys and second factors.
//!
//! This module builds options and verifies the browser's responses.
//! `webauthn-rs-core` verifies the ceremonies. Challenges come from the request's own entropy, their lifetime is up to
//! the caller, and signature counters are judged by the policy.

mod ceremony;

use gotrue_rules::domain::policy::RelyingParty;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::webauthn::{RelyingPartyEntity, UserEntity, encode_base64url};
use serde_json::Value;
use uuid::Uuid;

pub use self::ceremony::{
    AssertionResponse, CeremonyError, RegisteredCredential, RegistrationResponse, StoredCredential,
};
use crate::request_context::RequestContext;

/// The operator did not configure a relying party.
#[derive(Debug, thiserror::Error)]
#[error("no relying party: configure its id and origins")]
pub struct MissingRelyingParty;

/// The configured relying party.
pub fn relying_party(cx: &RequestContext) -> Result<&RelyingParty, MissingRelyingParty> {
    cx.app.policy.webauthn.relying_party.as_ref().ok_or(MissingRelyingParty)
}

/// The relying party as a registration shows it; `None` without a display name.
pub fn relying_party_entity(relying_party: &RelyingParty) -> Option<RelyingPartyEntity<'_>> {
    let name = Some(relying_party.display_name.as_str()).filter(|name| !name.is_empty())?;
    Some(RelyingPartyEntity { id: &relying_party.id, name })
}

/// Generates a challenge of 32 random bytes.
pub fn generate_challenge(cx: &RequestContext) -> String {
    encode_base64url(&cx.entropy.bytes::<32>())
}

/// The user entity for the authenticator, under these names.
pub fn user_entity<'a>(user: &User, name: &'a str, display_name: &'a str) -> UserEntity<'a> {
    UserEntity { id: encode_base64url(user_handle(user.id).as_bytes()), name, display_name }
}

/// The user handle: the text of the user id.
pub fn user_handle(user: Uuid) -> String {
    user.to_string()
}

/// The user's display name: the name of the metadata, else address or number.
pub fn display_name(user: &User) -> &str {
    let own = user.user_metadata.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    own.unwrap_or_else(|| address_or_number(user))
}

/// The user's address, else the number; `""` without both.
pub fn address_or_number(user: &User) -> &str {
    user.email.as_deref().or(user.phone.as_deref()).unwrap_or_default()
}
