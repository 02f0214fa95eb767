//! Keys of authenticators (WebAuthn), for passkeys and second factors alike: what is asked for, and whether what comes
//! back is an answer to it. The checks of the ceremonies are `webauthn-rs-core`'s; challenges are of the request's own
//! entropy, when they end is the caller's business, and signature counters are judged by the rules.

mod ceremony;

use gotrue_rules::domain::policy::RelyingParty;
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::webauthn::{Party, UserEntity, encode};
use serde_json::Value;
use uuid::Uuid;
use webauthn_rs_core::error::WebauthnError;

pub use self::ceremony::{Assertion, NewKey, Registration, StoredKey};
use crate::cx::Cx;

/// Why an answer is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It does not have the form of one.
    #[error("the credential cannot be read: {0}")]
    Unreadable(Box<dyn std::error::Error + Send + Sync>),
    /// It is not the answer to this challenge, or not by this key.
    #[error("the credential was refused: {0:?}")]
    Refused(WebauthnError),
    /// The key's signature counter did not grow: there may be a copy of it.
    #[error("the signature counter fell back from {stored} to {came}")]
    CounterFellBack {
        /// The counter as it was stored.
        stored: u32,
        /// The counter that came.
        came: u32,
    },
}

/// The operator did not say who we are to an authenticator.
#[derive(Debug, thiserror::Error)]
#[error("no relying party: set GOTRUE_WEBAUTHN_RP_ID and GOTRUE_WEBAUTHN_RP_ORIGINS")]
pub struct NoRelyingParty;

/// Who we are to an authenticator.
pub fn relying_party(cx: &Cx) -> Result<&RelyingParty, NoRelyingParty> {
    cx.app.policy.webauthn.relying_party.as_ref().ok_or(NoRelyingParty)
}

/// The same, as browsers are told that make a key; none without a name to show.
pub fn party(relying_party: &RelyingParty) -> Option<Party<'_>> {
    let name = Some(relying_party.display_name.as_str()).filter(|name| !name.is_empty())?;
    Some(Party { id: &relying_party.id, name })
}

/// A challenge that nobody can guess: 32 bytes.
pub fn challenge(cx: &Cx) -> String {
    encode(&cx.entropy.bytes::<32>())
}

/// The account as its authenticator keeps it, under these names.
pub fn user<'a>(account: &Account, name: &'a str, display_name: &'a str) -> UserEntity<'a> {
    UserEntity { id: encode(handle(account.id).as_bytes()), name, display_name }
}

/// The user handle: the letters of the account's id.
pub fn handle(account: Uuid) -> String {
    account.to_string()
}

/// What an account is called: what it calls itself, else its address or number.
pub fn display_name(account: &Account) -> &str {
    let own = account.user_metadata.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    own.unwrap_or_else(|| contact(account))
}

/// The account's address, else its number; `""` without both.
pub fn contact(account: &Account) -> &str {
    account.email.as_deref().or(account.phone.as_deref()).unwrap_or_default()
}
