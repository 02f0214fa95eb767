//! The keys that encrypt secrets in the database.

use std::collections::BTreeMap;

use crate::secret::SecretKey;

/// Encryption of secrets in the database. Off by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encryption {
    /// Id of the key for new secrets, one of `keys`; absent: they are stored unencrypted.
    pub encrypt_with: Option<String>,
    /// Decryption keys by id.
    pub keys: BTreeMap<String, SecretKey>,
}

impl Encryption {
    /// Returns the key for new secrets, and its id.
    pub fn encryption_key(&self) -> Option<(&str, &SecretKey)> {
        let id = self.encrypt_with.as_deref()?;
        self.keys.get(id).map(|key| (id, key))
    }
}
