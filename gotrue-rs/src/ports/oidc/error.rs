//! Why an issuer is unavailable or a token is rejected.

use std::sync::Arc;

use gotrue_rules::domain::external::id_token::IdTokenError;
use gotrue_rules::domain::external::jws::JwsError;
use gotrue_rules::domain::external::keys::KeySetError;
use platform::http_client::HttpError;

/// The largest document or key set, in bytes.
pub(super) const MAX_BYTES: usize = 1024 * 1024;

/// Why an issuer is unavailable or a token is rejected.
///
/// The [`std::fmt::Display`] text of a document that was not found may be shown to clients.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OidcError {
    /// The URL is not allowed or invalid.
    #[error("oidc: {0}")]
    Address(String),
    /// The rate limit of fetches is exhausted, and none has succeeded.
    #[error("oidc: the issuer was asked too often without an answer")]
    RateLimited,
    /// No response, or not in time.
    #[error("oidc: {0}")]
    Transport(#[source] Arc<HttpError>),
    /// The response is too long.
    #[error("oidc: what is at {0:?} is longer than {MAX_BYTES} bytes")]
    TooLong(String),
    /// An unexpected status.
    #[error("{status} {}: {body}", reason(*status))]
    Status {
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// The response is not a discovery document.
    #[error("oidc: failed to decode provider discovery object: {0}")]
    InvalidDocument(String),
    /// The document belongs to another issuer.
    #[error("oidc: issuer did not match the issuer returned by provider, expected {expected:?} got {got:?}")]
    IssuerMismatch {
        /// The requested issuer.
        expected: String,
        /// The issuer in the document.
        got: String,
    },
    /// The response is not a key set.
    #[error("oidc: {0}")]
    InvalidKeySet(#[from] KeySetError),
    /// The token is malformed.
    #[error("malformed token: {0}")]
    Malformed(#[from] JwsError),
    /// The issuer does not use the token's algorithm.
    #[error("the issuer does not sign with this algorithm")]
    Algorithm,
    /// The issuer has no such key.
    #[error("the issuer has no such key")]
    UnknownKey,
    /// The signature is invalid.
    #[error("the signature is not the issuer's")]
    Signature,
    /// A claim is invalid.
    #[error(transparent)]
    Token(#[from] IdTokenError),
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default()
}
