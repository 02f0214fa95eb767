//! Ourselves as a SAML 2.0 service provider: addresses, keys and their certificates, prepared once at start.

mod certificate;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use chrono::TimeDelta;
use gotrue_rules::domain::policy::{RequestSignature, SamlPolicy};
use gotrue_rules::domain::secret::Secret;
use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::saml::ServiceProvider;
use rsa::pkcs1::DecodeRsaPrivateKey as _;
use rsa::rand_core::OsRng;
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use uuid::Uuid;

/// After a try to fetch a description anew the next one waits this long, whatever came of it.
const BETWEEN_TRIES: TimeDelta = TimeDelta::minutes(1);
/// What stands before a SHA-1 in a signature (RFC 8017, section 9.2).
const SHA1_PREFIX: [u8; 15] =
    [0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14];

/// Ourselves.
#[derive(Debug)]
pub struct SamlIdentity {
    /// Our addresses.
    pub service: ServiceProvider,
    /// The key in use.
    pub key: SamlKey,
    /// The key that will follow.
    pub next: Option<SamlKey>,
    tries: Mutex<HashMap<Uuid, Time>>,
}

/// A key of ours.
pub struct SamlKey {
    pair: KeyPair,
    /// The same key, for the digest that aws-lc does not sign.
    legacy: RsaPrivateKey,
    der: Vec<u8>,
    certificate: String,
}

/// Does not print the key.
impl std::fmt::Debug for SamlKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SamlKey").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamlKeyError {
    /// It is no base64.
    #[error("it is not base64")]
    Base64,
    /// It is no RSA key.
    #[error("it is not an RSA key of at least 2048 bits in PKCS#1 DER")]
    Key,
    /// Nothing can be signed with it.
    #[error("nothing can be signed with it")]
    Signing,
}

impl SamlIdentity {
    /// Who we are; none while SAML is off. Certificates name the host of the external URL, whatever the base of our SAML
    /// addresses is.
    pub fn build(policy: &SamlPolicy, external_url: &str) -> Result<Option<Self>, SamlKeyError> {
        if !policy.enabled {
            return Ok(None);
        }
        let subject = certificate::Subject { external_url, encryption: policy.allow_encrypted_assertions };
        let read = |key: &Secret| SamlKey::read(key, &subject);
        Ok(Some(Self {
            service: ServiceProvider::at(policy.external_url.as_deref().unwrap_or(external_url)),
            key: read(&policy.private_key)?,
            next: policy.private_key_next.as_ref().map(read).transpose()?,
            tries: Mutex::default(),
        }))
    }

    /// The certificate of the key that will follow.
    pub fn next_certificate(&self) -> Option<&str> {
        self.next.as_ref().map(SamlKey::certificate)
    }

    /// Whether the description of that provider may be fetched anew now; it then counts as tried. A provider that does
    /// not answer is not asked at every sign-in, and never by many at once.
    pub fn may_try(&self, provider: Uuid, now: Time) -> bool {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        tries.retain(|_, last| now - *last < BETWEEN_TRIES);
        tries.insert(provider, now).is_none()
    }
}

impl SamlKey {
    fn read(key: &Secret, subject: &certificate::Subject<'_>) -> Result<Self, SamlKeyError> {
        let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
        let text: String = key.reveal().chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
        let der = GeneralPurpose::new(&STANDARD, config).decode(text).map_err(|_| SamlKeyError::Base64)?;
        let pair = KeyPair::from_der(&der).map_err(|_| SamlKeyError::Key)?;
        let legacy = RsaPrivateKey::from_pkcs1_der(&der).map_err(|_| SamlKeyError::Key)?;
        let certificate = certificate::of(pair.public_key().as_ref(), subject, |bytes| sha256(&pair, bytes))?;
        let certificate = base64::engine::general_purpose::STANDARD.encode(certificate);
        Ok(Self { pair, legacy, der, certificate })
    }

    /// Its certificate: DER in base64. Of the same key and host it is always the same, as identity providers keep it.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The private key in PKCS#1 DER, for whoever opens what is encrypted to it.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Signs a text.
    pub fn sign(&self, text: &str, how: RequestSignature) -> Result<Vec<u8>, SamlKeyError> {
        match how {
            RequestSignature::RsaSha256 => sha256(&self.pair, text.as_bytes()),
            RequestSignature::RsaSha1 => {
                let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
                let padding = Pkcs1v15Sign { hash_len: Some(20), prefix: SHA1_PREFIX.into() };
                // Chance hides how long the key took; it does not show in the signature.
                self.legacy.sign_with_rng(&mut OsRng, padding, digest.as_ref()).map_err(|_| SamlKeyError::Signing)
            }
        }
    }
}

fn sha256(pair: &KeyPair, bytes: &[u8]) -> Result<Vec<u8>, SamlKeyError> {
    let mut signature = vec![0; pair.public_modulus_len()];
    let signed = pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), bytes, &mut signature);
    signed.map(|()| signature).map_err(|_| SamlKeyError::Signing)
}
