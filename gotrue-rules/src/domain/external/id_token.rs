//! ID tokens of other services: their claims, once a signature vouches for them, and for whom they are good.

mod choice;
mod person;

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer};

pub use choice::{Accepted, Presented, choose, choose_stored, stored_name};
pub use person::profile;

use super::issuers;
use super::jws::{Algorithm, Compact};
use crate::domain::error::{Error, Result};
use crate::domain::user::Time;
use crate::wire::go_json::{Document, OneOrMany, Seconds};

/// How far another clock may be ahead, in seconds, where a time of a token must have come. `exp` knows no leeway.
const LEEWAY: i64 = 300;

/// An ID token whose signature and times hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IdToken {
    /// `iss`.
    pub issuer: String,
    /// `sub`; may be empty.
    pub subject: String,
    /// `aud`, one or many.
    pub audience: Vec<String>,
    /// `nonce`; empty: none.
    pub nonce: String,
    /// `at_hash`; empty: none.
    pub access_token_hash: String,
    /// All claims.
    pub claims: Document,
    /// An address counts as verified only where the token itself says so, also if its issuer never does.
    pub assumes_nothing: bool,
}

/// Why a token is refused. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// A claim is not of the type that it must have.
    #[error("a claim has a wrong type: {0}")]
    Type(String),
    /// It is another issuer's.
    #[error("it was issued by {0:?}")]
    Issuer(String),
    /// `exp` has come, or there is none.
    #[error("it has expired")]
    Expired,
    /// `nbf` or `iat` lies ahead, or there is no `iat` where one is asked for.
    #[error("it is not valid yet")]
    NotYet,
    /// It is for other clients.
    #[error("it is for {0:?}")]
    Audience(Vec<String>),
    /// `at_hash` is that of another access token.
    #[error("the access token is not the one that it was issued with")]
    AccessToken,
}

/// The claims that are read of every token.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Registered {
    iss: String,
    sub: String,
    aud: OneOrMany,
    exp: Moment,
    iat: Moment,
    nbf: Option<Seconds>,
    nonce: String,
    at_hash: String,
    #[serde(rename = "_claim_names")]
    claim_names: BTreeMap<String, String>,
    #[serde(rename = "_claim_sources")]
    claim_sources: BTreeMap<String, ClaimSource>,
}

/// A moment that may be absent, but not `null`.
#[derive(Default)]
struct Moment(Option<i64>);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Seconds::deserialize(deserializer).map(|seconds| Self(Some(seconds.0)))
    }
}

impl Registered {
    /// Each claim that is said to be elsewhere names a source that is there.
    fn require_sources(&self) -> Result<(), BadToken> {
        if self.claim_names.values().all(|source| self.claim_sources.contains_key(source)) {
            return Ok(());
        }
        Err(BadToken::Type("a claim names a source that is not there".to_owned()))
    }
}

/// Where claims are that are not in the token (OpenID Connect Core §5.6.2). Nobody is asked for them.
#[derive(Deserialize, Default)]
#[serde(default)]
// Only their types count.
struct ClaimSource {
    endpoint: String,
    access_token: String,
}

/// What a token is held against, beside its signature.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// Whose it must be.
    pub issuer: &'a str,
    /// The present moment.
    pub now: Time,
    /// It must say when it was issued.
    pub issued_at: bool,
}

impl IdToken {
    /// The claims of a token whose signature has been verified: of the right types, in their time, of that issuer.
    pub fn accept(token: Compact<'_>, expected: &Expected<'_>) -> Result<Self, BadToken> {
        let said: Registered = token.claims.read().map_err(|error| BadToken::Type(error.to_string()))?;
        said.require_sources()?;
        let read = Self {
            issuer: said.iss,
            subject: said.sub,
            audience: said.aud.0,
            nonce: said.nonce,
            access_token_hash: said.at_hash,
            claims: Document::default(),
            assumes_nothing: false,
        };
        let (ends, begins, issued) = (said.exp.0, said.nbf.map(|it| it.0), said.iat.0);
        if !issuers::may_sign_as(expected.issuer, &read.issuer) || read.issuer.is_empty() {
            return Err(BadToken::Issuer(read.issuer));
        }
        let now = expected.now.timestamp();
        let is_over = |end: i64| end < now || (end == now && expected.now.timestamp_subsec_nanos() > 0);
        if ends.is_none_or(is_over) {
            return Err(BadToken::Expired);
        }
        let lies_ahead = |seconds: i64| seconds > now.saturating_add(LEEWAY);
        if begins.is_some_and(lies_ahead) || (expected.issued_at && issued.is_none_or(lies_ahead)) {
            return Err(BadToken::NotYet);
        }
        Ok(Self { claims: token.claims, ..read })
    }

    /// Whether it is for one of these clients.
    pub fn is_for<'a>(&self, mut clients: impl Iterator<Item = &'a str>) -> bool {
        clients.any(|client| !client.is_empty() && self.audience.iter().any(|audience| audience == client))
    }

    /// That it is for somebody, for one of our clients, and was asked for with the nonce that the client passed.
    pub fn admit(&self, accepted: &Accepted, nonce: &str) -> Result<()> {
        let refused = |description: String| Err(Error::oauth("invalid request", description));
        if self.subject.is_empty() {
            return refused("Missing sub claim in id_token".to_owned());
        }
        if !self.is_for(accepted.clients.iter().map(String::as_str)) {
            return refused(format!("Unacceptable audience in id_token: [{}]", self.audience.join(" ")));
        }
        if accepted.skip_nonce_check {
            return Ok(());
        }
        match (self.nonce.is_empty(), nonce.is_empty()) {
            (true, true) => Ok(()),
            (false, false) if is_nonce(nonce, &self.nonce) => Ok(()),
            (false, false) => Err(Error::oauth("invalid nonce", "Nonces mismatch")),
            _ => refused("Passed nonce and nonce in id_token should either both exist or not.".to_owned()),
        }
    }
}

/// Whether the nonce of a token is the one that was passed: its SHA-256 in lower-case hexadecimal.
fn is_nonce(passed: &str, in_token: &str) -> bool {
    let hash = digest(&SHA256, passed.as_bytes());
    let written = hash.as_ref().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    written == in_token
}

/// Whether `at_hash` is that of an access token: the left half of its hash, by the algorithm of the signature.
pub fn is_hash_of(algorithm: Algorithm, access_token: &str, at_hash: &str) -> bool {
    let hash = digest(algorithm.digest(), access_token.as_bytes());
    let half = &hash.as_ref()[..hash.as_ref().len() / 2];
    URL_SAFE_NO_PAD.encode(half) == at_hash
}

#[cfg(test)]
mod tests;
