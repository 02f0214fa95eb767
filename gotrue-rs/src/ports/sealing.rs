//! Secrets encrypted in the database (schema.md §5.4): each under a key of its own, derived from the operator's key and
//! the id of the row that owns it, so that a value copied to another row cannot be read.

use std::borrow::Cow;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gotrue_rules::domain::policy::Encryption;
use gotrue_rules::domain::secret::SecretKey;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::entropy::Entropy;

/// The only algorithm there is.
const ALGORITHM: &str = "aes-gcm-hkdf";

/// An encrypted value as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Sealed<'a> {
    #[serde(borrow)]
    key_id: Cow<'a, str>,
    #[serde(borrow)]
    alg: Cow<'a, str>,
    data: String,
    nonce: String,
}

/// A value taken out of the database.
#[derive(Clone, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The value itself.
    pub plain: Cow<'a, str>,
    /// Whether it should be stored again: in the clear, or under another key than today's, though there is one.
    pub is_outdated: bool,
}

/// Does not print the value.
impl std::fmt::Debug for Opened<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("is_outdated", &self.is_outdated).finish_non_exhaustive()
    }
}

/// Why a stored value cannot be read. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealingError {
    /// Its key is not among the configured ones.
    #[error("a stored secret needs the key {0:?}; add it to GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS")]
    UnknownKey(String),
    /// It was changed, or moved from another row, or the key of that id is another one.
    #[error("a stored secret does not open with its key {0:?}")]
    Broken(String),
}

/// What to store of a secret: encrypted under today's key, or the value itself where nothing is encrypted.
pub fn seal(plain: &str, owner: Uuid, encryption: &Encryption, entropy: &Entropy) -> String {
    let Some((key_id, key)) = encryption.encrypting() else { return plain.to_owned() };
    let nonce: [u8; NONCE_LEN] = entropy.bytes();
    let mut data = plain.as_bytes().to_vec();
    derive(key, owner)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut data)
        .expect("AES-GCM encrypts anything shorter than 64 GiB");
    let sealed = Sealed {
        key_id: key_id.into(),
        alg: ALGORITHM.into(),
        data: STANDARD.encode(data),
        nonce: STANDARD.encode(nonce),
    };
    serde_json::to_string(&sealed).expect("texts become JSON")
}

/// What a stored text stands for. A text that is no encrypted value stands for itself.
pub fn open<'a>(stored: &'a str, owner: Uuid, encryption: &Encryption) -> Result<Opened<'a>, SealingError> {
    let today = encryption.encrypting().map(|(id, _)| id);
    let Some(sealed) = read(stored) else { return Ok(Opened { plain: stored.into(), is_outdated: today.is_some() }) };
    let key_id = sealed.key_id.as_ref();
    let key = encryption.keys.get(key_id).ok_or_else(|| SealingError::UnknownKey(key_id.to_owned()))?;
    let plain = decrypt(&sealed, key, owner).ok_or_else(|| SealingError::Broken(key_id.to_owned()))?;
    Ok(Opened { plain: plain.into(), is_outdated: today.is_some_and(|today| today != key_id) })
}

fn read(stored: &str) -> Option<Sealed<'_>> {
    serde_json::from_str(stored).ok().filter(|sealed: &Sealed<'_>| sealed.alg == ALGORITHM)
}

/// Whether a stored text was sealed, with whichever key.
pub fn is_sealed(stored: &str) -> bool {
    read(stored).is_some()
}

fn decrypt(sealed: &Sealed<'_>, key: &SecretKey, owner: Uuid) -> Option<String> {
    let mut data = STANDARD.decode(&sealed.data).ok()?;
    let nonce = Nonce::try_assume_unique_for_key(&STANDARD.decode(&sealed.nonce).ok()?).ok()?;
    let plain = derive(key, owner).open_in_place(nonce, Aad::empty(), &mut data).ok()?;
    String::from_utf8(plain.to_vec()).ok()
}

fn derive(key: &SecretKey, owner: Uuid) -> LessSafeKey {
    let owner = owner.hyphenated().to_string();
    let info = [owner.as_bytes()];
    let secret = Salt::new(HKDF_SHA256, &[]).extract(key.reveal());
    let derived = secret.expand(&info, &AES_256_GCM).expect("HKDF gives 32 bytes");
    LessSafeKey::new(UnboundKey::from(derived))
}
