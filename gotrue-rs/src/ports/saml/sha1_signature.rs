//! RSA signatures over SHA-1, which aws-lc does not create.
//!
//! The only use of the crate `rsa` (`docs/decisions/0083-rsa-signs-saml-requests-only.md`).

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use getrandom::SysRng;
use platform::saml_keys::SamlKeyError;
use rsa::pkcs1::DecodeRsaPrivateKey as _;
use rsa::rand_core::UnwrapErr;
use rsa::{Pkcs1v15Sign, RsaPrivateKey};

/// The `DigestInfo` prefix of SHA-1 (RFC 8017 §9.2).
const DIGEST_INFO: [u8; 15] =
    [0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14];

/// A private key that signs with SHA-1.
pub(super) struct Sha1SigningKey(RsaPrivateKey);

impl Sha1SigningKey {
    /// Reads a key in PKCS#1 DER.
    pub(super) fn parse(der: &[u8]) -> Result<Self, SamlKeyError> {
        RsaPrivateKey::from_pkcs1_der(der).map(Self).map_err(|_| SamlKeyError::Key)
    }

    /// Signs a text with RSASSA-PKCS1-v1_5.
    pub(super) fn sign(&self, text: &[u8]) -> Result<Vec<u8>, SamlKeyError> {
        let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, text);
        let padding = Pkcs1v15Sign { hash_len: Some(20), prefix: DIGEST_INFO.into() };
        // Blinding hides the timing of the key; it does not affect the signature.
        self.0.sign_with_rng(&mut UnwrapErr(SysRng), padding, digest.as_ref()).map_err(|_| SamlKeyError::Signing)
    }
}
