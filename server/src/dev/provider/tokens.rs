//! Codes and tokens of the provider: a code works once and for a minute, an access token for an hour.

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

use super::Registration;
use super::people::Person;

/// No more are remembered; the oldest go first.
const MOST: usize = 1000;
const CODE_LIFE: TimeDelta = TimeDelta::minutes(1);
const TOKEN_LIFE: TimeDelta = TimeDelta::hours(1);
const KEY_ID: &str = "dev";

/// What the auth API asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `state`, given back as it is.
    pub state: String,
    /// `nonce`; empty: none.
    pub nonce: String,
    /// `code_challenge`, S256; empty: none.
    pub challenge: String,
}

/// Codes and tokens, and the key that signs.
pub struct Tokens {
    issuer: String,
    audience: String,
    key: EncodingKey,
    /// The public point, its first byte left out.
    point: Vec<u8>,
    clock: SharedClock,
    entropy: Entropy,
    codes: Mutex<Kept<(Asked, Person)>>,
    signed_in: Mutex<Kept<Person>>,
}

/// What is remembered under a secret until a moment.
type Kept<T> = VecDeque<(String, DateTime<Utc>, T)>;

impl Tokens {
    /// With a key of its own, made now.
    pub fn new(registration: &Registration, clock: SharedClock, entropy: Entropy) -> anyhow::Result<Self> {
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
            signed_in: Mutex::default(),
        })
    }

    /// The public half of the key.
    pub fn jwks(&self) -> Value {
        let (x, y) = self.point.split_at(self.point.len() / 2);
        let coordinate = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        json!({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": KEY_ID,
                         "x": coordinate(x), "y": coordinate(y)}]})
    }

    /// A code for this person.
    pub fn code(&self, asked: Asked, person: Person) -> String {
        self.keep(&self.codes, CODE_LIFE, (asked, person))
    }

    /// The token answer for a code and the verifier of its challenge. The code is used up whatever comes of it.
    pub fn redeem(&self, code: &str, verifier: &str) -> Option<Value> {
        let (asked, person) = self.take(code)?;
        let hashed = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        if !asked.challenge.is_empty() && asked.challenge != hashed {
            return None;
        }
        let now = self.clock.now();
        let mut claims = person.claims();
        let about = [
            ("iss", json!(self.issuer)),
            ("aud", json!(self.audience)),
            ("iat", json!(now.timestamp())),
            ("exp", json!((now + TOKEN_LIFE).timestamp())),
        ];
        claims.extend(about.map(|(name, value)| (name.to_owned(), value)));
        if !asked.nonce.is_empty() {
            claims.insert("nonce".to_owned(), json!(asked.nonce));
        }
        let header = Header { kid: Some(KEY_ID.to_owned()), ..Header::new(Algorithm::ES256) };
        let id_token = jsonwebtoken::encode(&header, &claims, &self.key).ok()?;
        let access_token = self.keep(&self.signed_in, TOKEN_LIFE, person);
        Some(json!({"access_token": access_token, "token_type": "Bearer", "id_token": id_token,
                    "expires_in": TOKEN_LIFE.num_seconds()}))
    }

    /// Whose access token this is.
    pub fn person(&self, token: &str) -> Option<Person> {
        let now = self.clock.now();
        let tokens = self.signed_in.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.iter().find(|(kept, until, _)| kept == token && now < *until).map(|(_, _, person)| person.clone())
    }

    fn take(&self, code: &str) -> Option<(Asked, Person)> {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let at = codes.iter().position(|(kept, ..)| kept == code)?;
        let (_, until, what) = codes.remove(at)?;
        (self.clock.now() < until).then_some(what)
    }

    fn keep<T>(&self, kept: &Mutex<Kept<T>>, life: TimeDelta, what: T) -> String {
        let secret = self.entropy.base32(40);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MOST {
            kept.pop_front();
        }
        kept.push_back((secret.clone(), self.clock.now() + life, what));
        secret
    }
}
