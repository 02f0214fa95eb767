//! Signatures of RSA keys.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamlKeyError {
    /// It is not base64.
    #[error("it is not base64")]
    Base64,
    /// It is not an RSA key.
    #[error("it is not an RSA key of at least 2048 bits in PKCS#1 DER")]
    Key,
    /// Signing fails.
    #[error("nothing can be signed with it")]
    Signing,
}

/// Signs bytes with RSA and SHA-256.
///
/// # Errors
///
/// Fails if nothing can be signed with the key.
pub fn sign_sha256(pair: &KeyPair, bytes: &[u8]) -> Result<Vec<u8>, SamlKeyError> {
    let mut signature = vec![0; pair.public_modulus_len()];
    let signed = pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), bytes, &mut signature);
    signed.map(|()| signature).map_err(|_| SamlKeyError::Signing)
}
