//! A generated key with its certificate, for a SAML party that exists only as long as the process.

use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::certificate;
use super::signature::{SamlKeyError, sign_sha256};

/// A generated RSA key with a self-signed certificate.
pub struct SamlSigningKey {
    pair: KeyPair,
    certificate: String,
}

impl SamlSigningKey {
    /// Generates a key of 2048 bits, which takes up to a second; the certificate names the host of the URL.
    ///
    /// # Errors
    ///
    /// Fails if no key can be generated.
    pub fn generate(url: &str) -> Result<Self, SamlKeyError> {
        let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| SamlKeyError::Key)?;
        let subject = certificate::Subject { external_url: url, encryption: false };
        let sign = |bytes: &[u8]| sign_sha256(&pair, bytes);
        let certificate = certificate::build_certificate(pair.public_key().as_ref(), &subject, sign)?;
        Ok(Self { certificate: STANDARD.encode(certificate), pair })
    }

    /// Returns the certificate: DER in base64.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Signs with RSA and SHA-256.
    ///
    /// # Errors
    ///
    /// Fails if nothing can be signed with the key.
    pub fn sign(&self, text: &str) -> Result<Vec<u8>, SamlKeyError> {
        sign_sha256(&self.pair, text.as_bytes())
    }
}

/// Omits the key.
impl std::fmt::Debug for SamlSigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SamlSigningKey").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}
