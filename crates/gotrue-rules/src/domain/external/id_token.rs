//! ID tokens of external providers (OpenID Connect Core §2, §3.1.3.7).

pub mod issuer_profiles;
mod selection;

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use foundation::error::{Error, OAuthErrorCode, Result};
use foundation::time::Time;
pub use selection::{
    AcceptedIdTokens, PresentedIdToken, select_provider, select_stored_provider, stored_provider_name,
};
use serde::{Deserialize, Deserializer};

use super::issuers;
use super::jws::{Algorithm, CompactJws};
use crate::wire::go_json::{Document, NumericDate, OneOrMany};

/// Accepted clock skew for `nbf` and `iat`, in seconds. `exp` has no leeway.
const LEEWAY: i64 = 300;

/// An ID token whose signature and validity period have been verified.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExternalIdToken {
    /// `iss`.
    pub issuer: String,
    /// `sub`; may be empty.
    pub subject: String,
    /// `aud`, one or several values.
    pub audience: Vec<String>,
    /// `nonce`; empty if absent.
    pub nonce: String,
    /// `at_hash`; empty if absent.
    pub access_token_hash: String,
    /// All claims.
    pub claims: Document,
    /// An email address counts as verified only if the token says so, even if its issuer never does.
    pub requires_email_verified_claim: bool,
}

/// Why an ID token is refused. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenError {
    /// A claim has a wrong type.
    #[error("a claim has a wrong type: {0}")]
    ClaimType(String),
    /// `iss` is not the expected issuer.
    #[error("the issuer is {0:?}")]
    Issuer(String),
    /// `exp` has passed or is absent.
    #[error("the token has expired")]
    Expired,
    /// `nbf` or `iat` is in the future, or a required `iat` is absent.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// `aud` contains none of the accepted clients.
    #[error("the audience is {0:?}")]
    Audience(Vec<String>),
    /// `at_hash` does not match the access token.
    #[error("at_hash does not match the access token")]
    AccessTokenHash,
}

/// The claims that every token is checked for.
#[derive(Deserialize, Default)]
#[serde(default)]
struct RegisteredClaims {
    iss: String,
    sub: String,
    aud: OneOrMany,
    exp: OptionalSeconds,
    iat: OptionalSeconds,
    nbf: Option<NumericDate>,
    nonce: String,
    at_hash: String,
    #[serde(rename = "_claim_names")]
    claim_names: BTreeMap<String, String>,
    #[serde(rename = "_claim_sources")]
    claim_sources: BTreeMap<String, DistributedClaimSource>,
}

/// Seconds that may be absent, but not `null`.
#[derive(Default)]
struct OptionalSeconds(Option<i64>);

impl<'de> Deserialize<'de> for OptionalSeconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NumericDate::deserialize(deserializer).map(|seconds| Self(Some(seconds.0)))
    }
}

impl RegisteredClaims {
    /// Checks that each distributed claim names a source that exists.
    fn validate_claim_sources(&self) -> Result<(), IdTokenError> {
        if self.claim_names.values().all(|source| self.claim_sources.contains_key(source)) {
            return Ok(());
        }
        Err(IdTokenError::ClaimType("a distributed claim names a source that does not exist".to_owned()))
    }
}

/// The source of distributed claims (OpenID Connect Core §5.6.2).
/// It is never called; only the types are checked.
#[derive(Deserialize, Default)]
#[serde(default)]
struct DistributedClaimSource {
    endpoint: String,
    access_token: String,
}

/// What a token is checked against, besides its signature.
#[derive(Debug, Clone, Copy)]
pub struct IdTokenExpectations<'a> {
    /// The expected issuer.
    pub issuer: &'a str,
    /// The current time.
    pub now: Time,
    /// Whether `iat` is required.
    pub requires_issued_at: bool,
}

impl ExternalIdToken {
    /// Checks types, issuer and validity period of a token whose signature has been verified.
    pub fn from_verified_jws(token: CompactJws<'_>, expected: &IdTokenExpectations<'_>) -> Result<Self, IdTokenError> {
        let claims: RegisteredClaims =
            token.claims.read().map_err(|error| IdTokenError::ClaimType(error.to_string()))?;
        claims.validate_claim_sources()?;
        let token_fields = Self {
            issuer: claims.iss,
            subject: claims.sub,
            audience: claims.aud.0,
            nonce: claims.nonce,
            access_token_hash: claims.at_hash,
            claims: Document::default(),
            requires_email_verified_claim: false,
        };
        let (expires_at, not_before, issued_at) = (claims.exp.0, claims.nbf.map(|date| date.0), claims.iat.0);
        if !issuers::is_accepted_token_issuer(expected.issuer, &token_fields.issuer) || token_fields.issuer.is_empty() {
            return Err(IdTokenError::Issuer(token_fields.issuer));
        }
        let now = expected.now.timestamp();
        let is_past = |end: i64| end < now || (end == now && expected.now.timestamp_subsec_nanos() > 0);
        if expires_at.is_none_or(is_past) {
            return Err(IdTokenError::Expired);
        }
        let is_future = |seconds: i64| seconds > now.saturating_add(LEEWAY);
        if not_before.is_some_and(is_future) || (expected.requires_issued_at && issued_at.is_none_or(is_future)) {
            return Err(IdTokenError::NotYetValid);
        }
        Ok(Self { claims: token.claims, ..token_fields })
    }

    /// Whether the audience contains one of these clients.
    pub fn has_audience<'a>(&self, mut clients: impl Iterator<Item = &'a str>) -> bool {
        clients.any(|client| !client.is_empty() && self.audience.iter().any(|audience| audience == client))
    }

    /// Checks subject, audience and nonce.
    /// Both the token and the request must have a nonce, or neither.
    pub fn validate_audience_and_nonce(&self, accepted: &AcceptedIdTokens, nonce: &str) -> Result<()> {
        let refused = |description: String| Err(Error::oauth(OAuthErrorCode::InvalidIdTokenRequest, description));
        if self.subject.is_empty() {
            return refused("Missing sub claim in id_token".to_owned());
        }
        if !self.has_audience(accepted.audiences.iter().map(String::as_str)) {
            return refused(format!("Unacceptable audience in id_token: [{}]", self.audience.join(" ")));
        }
        if accepted.skip_nonce_check {
            return Ok(());
        }
        match (self.nonce.is_empty(), nonce.is_empty()) {
            (true, true) => Ok(()),
            (false, false) if is_nonce_hash(nonce, &self.nonce) => Ok(()),
            (false, false) => Err(Error::oauth(OAuthErrorCode::InvalidNonce, "Nonces mismatch")),
            _ => refused("Passed nonce and nonce in id_token should either both exist or not.".to_owned()),
        }
    }
}

/// Whether the token's nonce is the lower-case hexadecimal SHA-256 of the passed one.
fn is_nonce_hash(passed: &str, in_token: &str) -> bool {
    hex::encode(digest(&SHA256, passed.as_bytes()).as_ref()) == in_token
}

/// Whether `at_hash` matches an access token: the left half of its hash, by the signature's algorithm.
pub fn is_access_token_hash(algorithm: Algorithm, access_token: &str, at_hash: &str) -> bool {
    let hash = digest(algorithm.digest(), access_token.as_bytes());
    let half = &hash.as_ref()[..hash.as_ref().len() / 2];
    URL_SAFE_NO_PAD.encode(half) == at_hash
}

#[cfg(test)]
mod tests;
