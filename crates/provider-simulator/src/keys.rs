//! The keys that sign ID tokens, and ID tokens (RFC 7515).
//!
//! Named providers sign with RS256, as their discovery documents announce; the issuer of the simulator with ES256.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

/// The length of the modulus of RSA keys, in bytes.
const MODULUS_LENGTH: usize = 256;
/// The encoding of the exponent 65537 (RFC 8017 §A.1.1), which follows the modulus.
const EXPONENT: [u8; 5] = [2, 3, 1, 0, 1];

/// An algorithm of ID tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAlgorithm {
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
}

impl KeyAlgorithm {
    /// Returns the name (RFC 7518 §3.1).
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }

    fn key_id(self) -> &'static str {
        match self {
            Self::Es256 => "dev",
            Self::Rs256 => "dev-rsa",
        }
    }
}

/// The keys of a simulator, generated at their first use.
#[derive(Default)]
pub(crate) struct SigningKeys {
    ec: Mutex<Option<Arc<SigningKey>>>,
    rsa: Mutex<Option<Arc<SigningKey>>>,
}

impl SigningKeys {
    /// Returns the key of an algorithm; an RSA key is generated on another thread.
    ///
    /// # Errors
    ///
    /// Fails if no key can be generated.
    pub(crate) async fn load(&self, algorithm: KeyAlgorithm) -> anyhow::Result<Arc<SigningKey>> {
        let kept = match algorithm {
            KeyAlgorithm::Es256 => &self.ec,
            KeyAlgorithm::Rs256 => &self.rsa,
        };
        if let Some(key) = kept.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Ok(key);
        }
        let generated = Arc::new(SigningKey::generate(algorithm).await?);
        // The first of several concurrent keys counts.
        Ok(kept.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(generated).clone())
    }
}

pub(crate) enum SigningKey {
    /// For ES256.
    Ec(EcdsaKeyPair),
    /// For RS256.
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// Generates a key.
    ///
    /// # Errors
    ///
    /// Fails if the system has no randomness.
    pub(crate) async fn generate(algorithm: KeyAlgorithm) -> anyhow::Result<Self> {
        let key = match algorithm {
            KeyAlgorithm::Es256 => EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map(Self::Ec),
            KeyAlgorithm::Rs256 => {
                tokio::task::spawn_blocking(|| RsaKeyPair::generate(KeySize::Rsa2048)).await?.map(Self::Rsa)
            }
        };
        key.context("generating a signing key")
    }

    fn algorithm(&self) -> KeyAlgorithm {
        match self {
            Self::Ec(_) => KeyAlgorithm::Es256,
            Self::Rsa(_) => KeyAlgorithm::Rs256,
        }
    }

    /// Returns the public key as a JSON Web Key Set (RFC 7517).
    pub(crate) fn jwks(&self) -> Value {
        let text = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        let mut key = match self {
            Self::Ec(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = point.get(1..).unwrap_or_default().split_at(point.len() / 2);
                json!({"kty": "EC", "crv": "P-256", "x": text(x), "y": text(y)})
            }
            Self::Rsa(pair) => {
                let encoded = pair.public_key().as_ref();
                let numbers = encoded.strip_suffix(&EXPONENT).unwrap_or_default();
                let modulus = numbers.get(numbers.len().saturating_sub(MODULUS_LENGTH)..).unwrap_or_default();
                json!({"kty": "RSA", "n": text(modulus), "e": text(&EXPONENT[2..])})
            }
        };
        let algorithm = self.algorithm();
        key["alg"] = json!(algorithm.as_str());
        key["use"] = json!("sig");
        key["kid"] = json!(algorithm.key_id());
        json!({ "keys": [key] })
    }

    /// Signs claims.
    ///
    /// # Errors
    ///
    /// Fails if the system has no randomness.
    pub(crate) fn sign(&self, claims: &Map<String, Value>) -> anyhow::Result<String> {
        let part = |value: String| URL_SAFE_NO_PAD.encode(value);
        let algorithm = self.algorithm();
        let header = json!({"alg": algorithm.as_str(), "kid": algorithm.key_id(), "typ": "JWT"});
        let signed = format!("{}.{}", part(header.to_string()), part(Value::Object(claims.clone()).to_string()));
        let (random, text) = (SystemRandom::new(), signed.as_bytes());
        let signature = match self {
            Self::Ec(pair) => pair.sign(&random, text).map(|signature| signature.as_ref().to_vec()),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature).map(|()| signature)
            }
        };
        let signature = signature.context("signing an ID token")?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}
