//! This server as a SAML 2.0 service provider: URLs, keys and certificates, prepared once at start.

mod sha1_signature;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use chrono::TimeDelta;
use foundation::secret::Secret;
use foundation::time::Time;
use gotrue_rules::domain::policy::{RequestSignature, SamlPolicy};
use gotrue_rules::wire::saml::ServiceProvider;
use platform::saml_keys::{SamlKeyError, certificate, sign_sha256};
use uuid::Uuid;

use sha1_signature::Sha1SigningKey;

/// The minimum interval between two attempts to fetch an identity provider's metadata.
const MIN_FETCH_INTERVAL: TimeDelta = TimeDelta::minutes(1);

/// This server as a service provider.
#[derive(Debug)]
pub struct SamlServiceProvider {
    /// The URLs of the service provider.
    pub service: ServiceProvider,
    /// The current key.
    pub key: SamlKey,
    pub next_key: Option<SamlKey>,
    fetch_attempts: Mutex<HashMap<Uuid, Time>>,
}

/// A key of the service provider.
pub struct SamlKey {
    pair: KeyPair,
    /// The same key for SHA-1 signatures, which aws-lc does not support.
    legacy: Sha1SigningKey,
    der: Vec<u8>,
    certificate: String,
}

/// Omits the key.
impl std::fmt::Debug for SamlKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SamlKey").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl SamlServiceProvider {
    /// Builds the service provider; `None` if SAML is disabled.
    ///
    /// Certificates name the host of the external URL, independent of the base of the SAML URLs.
    pub fn build(policy: &SamlPolicy, external_url: &str) -> Result<Option<Self>, SamlKeyError> {
        if !policy.enabled {
            return Ok(None);
        }
        let subject = certificate::Subject { external_url, encryption: policy.allow_encrypted_assertions };
        let read = |key: &Secret| SamlKey::parse(key, &subject);
        Ok(Some(Self {
            service: ServiceProvider::new(policy.external_url.as_deref().unwrap_or(external_url)),
            key: read(&policy.private_key)?,
            next_key: policy.private_key_next.as_ref().map(read).transpose()?,
            fetch_attempts: Mutex::default(),
        }))
    }

    /// Returns the certificate of the next key.
    pub fn next_certificate(&self) -> Option<&str> {
        self.next_key.as_ref().map(SamlKey::certificate)
    }

    /// Whether the metadata of that provider may be fetched now; records the attempt.
    ///
    /// So an unresponsive provider is not queried at every sign-in, nor by concurrent requests.
    pub fn try_start_metadata_fetch(&self, provider: Uuid, now: Time) -> bool {
        let mut tries = self.fetch_attempts.lock().unwrap_or_else(PoisonError::into_inner);
        tries.retain(|_, last| now - *last < MIN_FETCH_INTERVAL);
        tries.insert(provider, now).is_none()
    }
}

impl SamlKey {
    fn parse(key: &Secret, subject: &certificate::Subject<'_>) -> Result<Self, SamlKeyError> {
        let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
        let text: String = key.reveal().chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
        let der = GeneralPurpose::new(&STANDARD, config).decode(text).map_err(|_| SamlKeyError::Base64)?;
        let pair = KeyPair::from_der(&der).map_err(|_| SamlKeyError::Key)?;
        let legacy = Sha1SigningKey::parse(&der)?;
        let certificate =
            certificate::build_certificate(pair.public_key().as_ref(), subject, |bytes| sign_sha256(&pair, bytes))?;
        let certificate = base64::engine::general_purpose::STANDARD.encode(certificate);
        Ok(Self { pair, legacy, der, certificate })
    }

    /// Returns the certificate: DER in base64.
    ///
    /// It is always the same for one key and host, because identity providers store it.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Returns the private key in PKCS#1 DER, for decryption.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Signs a text.
    pub fn sign(&self, text: &str, how: RequestSignature) -> Result<Vec<u8>, SamlKeyError> {
        match how {
            RequestSignature::RsaSha256 => sign_sha256(&self.pair, text.as_bytes()),
            RequestSignature::RsaSha1 => self.legacy.sign(text.as_bytes()),
        }
    }
}
