//! The key that signs ID tokens, and ID tokens (RFC 7515, ES256).

use anyhow::Context;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

const KEY_ID: &str = "dev";

/// A signing key with its id.
pub(crate) struct SigningKey(EcdsaKeyPair);

impl SigningKey {
    /// Generates a key.
    ///
    /// # Errors
    ///
    /// Fails if the system has no randomness.
    pub(crate) fn generate() -> anyhow::Result<Self> {
        EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map(Self).context("generating a signing key")
    }

    /// Returns the public key as a JSON Web Key Set (RFC 7517).
    pub(crate) fn jwks(&self) -> Value {
        let point = self.0.public_key().as_ref();
        let (x, y) = point.get(1..).unwrap_or_default().split_at(point.len() / 2);
        let coordinate = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        json!({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": KEY_ID,
                         "x": coordinate(x), "y": coordinate(y)}]})
    }

    /// Signs claims.
    ///
    /// # Errors
    ///
    /// Fails if the system has no randomness.
    pub(crate) fn sign(&self, claims: &Map<String, Value>) -> anyhow::Result<String> {
        let part = |value: String| URL_SAFE_NO_PAD.encode(value);
        let header = json!({"alg": "ES256", "kid": KEY_ID, "typ": "JWT"});
        let signed = format!("{}.{}", part(header.to_string()), part(Value::Object(claims.clone()).to_string()));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).context("signing an ID token")?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}
