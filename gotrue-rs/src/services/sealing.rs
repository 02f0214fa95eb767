//! Encryption of stored secrets with the operator's key, bound to the owning row.
//!
//! Secrets are stored through [`seal`] and read through [`open`]. The owner of a password is its user, of a TOTP secret
//! its factor, of a code its challenge, of a refresh token key its session.

use foundation::error::{Error, Result};
use platform::sealing;
use uuid::Uuid;

use crate::request_context::RequestContext;
pub use platform::sealing::UnsealedValue;

/// Encrypts a secret for storage; returns it unchanged without a key.
pub fn seal(cx: &RequestContext, owner: Uuid, secret: &str) -> String {
    sealing::seal(secret, owner, &cx.app.policy.security.encryption, &cx.entropy)
}

/// Decrypts a stored secret and tells whether it is outdated.
///
/// A value that is not encrypted is returned as it is; one that cannot be decrypted is an internal error.
pub fn open<'a>(cx: &RequestContext, owner: Uuid, stored: &'a str) -> Result<UnsealedValue<'a>> {
    sealing::unseal(stored, owner, &cx.app.policy.security.encryption).map_err(Error::other)
}
