//! Secrets that operators choose themselves.

/// The least length of a secret that the operator chooses, in bytes: 96 bits, written as base64.
pub(super) const MIN_SECRET_LENGTH: usize = 16;
/// What a secret that is too short has to be.
pub(super) const SHORT_SECRET: &str =
    "has less than 16 characters and can be guessed; `openssl rand -hex 16` makes one";
