//! Codes and tokens of the provider.
//! A code is valid once and for a minute, an access token for an hour.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use gotrue_rs::ports::clock::SharedClock;
use gotrue_rs::ports::entropy::Entropy;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::registration::Registration;
use super::users::ProviderUser;

/// Maximum number of entries; the oldest are removed first.
const MAX_ENTRIES: usize = 1000;
const CODE_LIFETIME: TimeDelta = TimeDelta::minutes(1);
const TOKEN_LIFETIME: TimeDelta = TimeDelta::hours(1);
const KEY_ID: &str = "dev";

/// The parameters of the auth API's authorization request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthorizationRequest {
    /// `state`, returned unchanged.
    pub state: String,
    /// `nonce`; empty if there is none.
    pub nonce: String,
    /// `code_challenge` (S256); empty if there is none.
    pub challenge: String,
}

/// Codes and tokens, and the signing key.
pub(super) struct TokenStore {
    issuer: String,
    audience: String,
    key: EncodingKey,
    /// The public point without its first byte.
    point: Vec<u8>,
    clock: SharedClock,
    entropy: Entropy,
    codes: Mutex<ExpiringEntries<(AuthorizationRequest, ProviderUser)>>,
    access_tokens: Mutex<ExpiringEntries<ProviderUser>>,
}

/// Entries by secret, with their expiry.
type ExpiringEntries<T> = VecDeque<(String, DateTime<Utc>, T)>;

impl TokenStore {
    /// Creates the store with a new signing key.
    pub(super) fn new(registration: &Registration, clock: SharedClock, entropy: Entropy) -> anyhow::Result<Self> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).context("making a key")?;
        let der = pair.to_pkcs8v1().context("writing a key")?;
        Ok(Self {
            issuer: registration.issuer.clone(),
            audience: registration.client_id.clone(),
            key: EncodingKey::from_ec_der(der.as_ref()),
            point: pair.public_key().as_ref().iter().skip(1).copied().collect(),
            clock,
            entropy,
            codes: Mutex::default(),
            access_tokens: Mutex::default(),
        })
    }

    /// Returns the public key as a JSON Web Key Set.
    pub(super) fn jwks(&self) -> Value {
        let (x, y) = self.point.split_at(self.point.len() / 2);
        let coordinate = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        json!({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": KEY_ID,
                         "x": coordinate(x), "y": coordinate(y)}]})
    }

    /// Issues a code for a user.
    pub(super) fn issue_code(&self, requested: AuthorizationRequest, user: ProviderUser) -> String {
        self.insert(&self.codes, CODE_LIFETIME, (requested, user))
    }

    /// Returns the token response for a code and its verifier (RFC 7636).
    /// Failed attempts consume the code, too.
    pub(super) fn redeem(&self, code: &str, verifier: &str) -> Option<Value> {
        let (requested, imported_user) = self.take_code(code)?;
        let hashed = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        if !requested.challenge.is_empty() && requested.challenge != hashed {
            return None;
        }
        let now = self.clock.now();
        let mut claims = imported_user.claims();
        let about = [
            ("iss", json!(self.issuer)),
            ("aud", json!(self.audience)),
            ("iat", json!(now.timestamp())),
            ("exp", json!((now + TOKEN_LIFETIME).timestamp())),
        ];
        claims.extend(about.map(|(name, value)| (name.to_owned(), value)));
        if !requested.nonce.is_empty() {
            claims.insert("nonce".to_owned(), json!(requested.nonce));
        }
        let header = Header { kid: Some(KEY_ID.to_owned()), ..Header::new(Algorithm::ES256) };
        let id_token = jsonwebtoken::encode(&header, &claims, &self.key).ok()?;
        let access_token = self.insert(&self.access_tokens, TOKEN_LIFETIME, imported_user);
        Some(json!({"access_token": access_token, "token_type": "Bearer", "id_token": id_token,
                    "expires_in": TOKEN_LIFETIME.num_seconds()}))
    }

    /// Returns the user of an access token.
    pub(super) fn find_user(&self, token: &str) -> Option<ProviderUser> {
        let now = self.clock.now();
        let tokens = self.access_tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.iter().find(|(kept, until, _)| kept == token && now < *until).map(|(_, _, user)| user.clone())
    }

    fn take_code(&self, code: &str) -> Option<(AuthorizationRequest, ProviderUser)> {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let at = codes.iter().position(|(kept, ..)| kept == code)?;
        let (_, until, what) = codes.remove(at)?;
        (self.clock.now() < until).then_some(what)
    }

    fn insert<T>(&self, kept: &Mutex<ExpiringEntries<T>>, life: TimeDelta, what: T) -> String {
        let secret = self.entropy.base32(40);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MAX_ENTRIES {
            kept.pop_front();
        }
        kept.push_back((secret.clone(), self.clock.now() + life, what));
        secret
    }
}
