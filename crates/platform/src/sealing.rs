//! Encryption of secrets in the database.
//!
//! Each secret has its own key, derived from the configured key and the id of its row, so that a value copied to
//! another row cannot be decrypted.

use std::borrow::Cow;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foundation::encryption::Encryption;
use foundation::secret::SecretKey;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::entropy::Entropy;

/// The only supported algorithm.
const ALGORITHM: &str = "aes-gcm-hkdf";

/// An encrypted value as stored.
#[derive(Debug, Serialize, Deserialize)]
struct SealedValue<'a> {
    #[serde(borrow)]
    key_id: Cow<'a, str>,
    #[serde(borrow)]
    alg: Cow<'a, str>,
    data: String,
    nonce: String,
}

/// A decrypted value.
#[derive(Clone, PartialEq, Eq)]
pub struct UnsealedValue<'a> {
    /// The plain value.
    pub plain: Cow<'a, str>,
    /// Whether the value should be encrypted again.
    ///
    /// That is the case if it is in plain text or under an old key, and a current key exists.
    pub is_outdated: bool,
}

/// Omits the value.
impl std::fmt::Debug for UnsealedValue<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("is_outdated", &self.is_outdated).finish_non_exhaustive()
    }
}

/// Why a stored value cannot be decrypted. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealingError {
    /// Its key is not configured.
    #[error("a stored secret needs the key {0:?}; add it to GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS")]
    UnknownKey(String),
    /// It was modified or moved from another row, or its key has changed.
    #[error("a stored secret does not open with its key {0:?}")]
    Broken(String),
}

/// Encrypts a secret with the current key; returns it unchanged if encryption is disabled.
pub fn seal(plain: &str, owner: Uuid, encryption: &Encryption, entropy: &Entropy) -> String {
    let Some((key_id, key)) = encryption.encryption_key() else { return plain.to_owned() };
    let nonce: [u8; NONCE_LEN] = entropy.bytes();
    let mut data = plain.as_bytes().to_vec();
    derive_key(key, owner)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut data)
        .expect("AES-GCM encrypts any text below 64 GiB");
    let sealed = SealedValue {
        key_id: key_id.into(),
        alg: ALGORITHM.into(),
        data: STANDARD.encode(data),
        nonce: STANDARD.encode(nonce),
    };
    serde_json::to_string(&sealed).expect("strings serialize to JSON")
}

/// Decrypts a stored text. A text that is not an encrypted value is returned unchanged.
pub fn unseal<'a>(stored: &'a str, owner: Uuid, encryption: &Encryption) -> Result<UnsealedValue<'a>, SealingError> {
    let today = encryption.encryption_key().map(|(id, _)| id);
    let Some(sealed) = parse_sealed(stored) else {
        return Ok(UnsealedValue { plain: stored.into(), is_outdated: today.is_some() });
    };
    let key_id = sealed.key_id.as_ref();
    let key = encryption.keys.get(key_id).ok_or_else(|| SealingError::UnknownKey(key_id.to_owned()))?;
    let plain = decrypt(&sealed, key, owner).ok_or_else(|| SealingError::Broken(key_id.to_owned()))?;
    Ok(UnsealedValue { plain: plain.into(), is_outdated: today.is_some_and(|today| today != key_id) })
}

fn parse_sealed(stored: &str) -> Option<SealedValue<'_>> {
    serde_json::from_str(stored).ok().filter(|sealed: &SealedValue<'_>| sealed.alg == ALGORITHM)
}

/// Whether a stored text is encrypted, with any key.
pub fn is_sealed(stored: &str) -> bool {
    parse_sealed(stored).is_some()
}

fn decrypt(sealed: &SealedValue<'_>, key: &SecretKey, owner: Uuid) -> Option<String> {
    let mut data = STANDARD.decode(&sealed.data).ok()?;
    let nonce = Nonce::try_assume_unique_for_key(&STANDARD.decode(&sealed.nonce).ok()?).ok()?;
    let plain = derive_key(key, owner).open_in_place(nonce, Aad::empty(), &mut data).ok()?;
    String::from_utf8(plain.to_vec()).ok()
}

fn derive_key(key: &SecretKey, owner: Uuid) -> LessSafeKey {
    let owner = owner.hyphenated().to_string();
    let info = [owner.as_bytes()];
    let secret = Salt::new(HKDF_SHA256, &[]).extract(key.reveal());
    let derived = secret.expand(&info, &AES_256_GCM).expect("HKDF expands to 32 bytes");
    LessSafeKey::new(UnboundKey::from(derived))
}
