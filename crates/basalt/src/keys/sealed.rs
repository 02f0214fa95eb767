//! The stored key set, encrypted with a key that is derived from `auth.jwt_secret`.
//!
//! A reader of the database learns no key, and a writer cannot add one.

use anyhow::{Context, bail, ensure};
use aws_lc_rs::digest::{SHA256, digest};
use foundation::encryption::Encryption;
use foundation::secret::SecretKey;
use platform::entropy::Entropy;
use platform::sealing::{is_sealed, seal, unseal};
use platform::store::Pool;
use uuid::Uuid;

use super::key_set::KeySet;
use super::key_sets::{KeySetTable, SealedKeySet};

/// The name of the row.
const NAME: &str = "project";
/// The id of the encryption key in the stored form.
const KEY_ID: &str = "auth.jwt_secret";
/// What the encryption key belongs to: any constant that nothing else uses.
const OWNER: Uuid = Uuid::from_u128(0x8f4b_1d0a_67c2_4f0e_9a35_5f10_c0de_0101);
/// The largest stored form, in bytes.
const MAX_SEALED_BYTES: usize = 512 * 1024;

/// The stored key set of a project.
#[derive(Debug, Clone)]
pub(crate) struct KeySetStore {
    table: KeySetTable,
    encryption: Encryption,
}

/// A key set with its version; 0 if none is stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct VersionedKeys {
    pub version: i64,
    pub keys: KeySet,
}

impl KeySetStore {
    /// Names the key set of a database, which this secret opens.
    pub(crate) fn new(pool: Pool, jwt_secret: &str) -> Self {
        Self { table: KeySetTable::new(pool, NAME), encryption: derive_encryption(jwt_secret) }
    }

    /// Loads the key set.
    ///
    /// # Errors
    /// The database failed, or the set is sealed with another secret.
    pub(crate) async fn load(&self) -> anyhow::Result<VersionedKeys> {
        Ok(self.load_other_version(0).await?.unwrap_or_default())
    }

    /// Loads the key set, unless its version is `version`.
    pub(crate) async fn load_other_version(&self, version: i64) -> anyhow::Result<Option<VersionedKeys>> {
        let found = self
            .table
            .find_other_version(version)
            .await
            .context("reading basalt.key_sets, which `basalt serve` makes at its start")?;
        let Some(SealedKeySet { version, sealed }) = found else { return Ok(None) };
        Ok(Some(VersionedKeys { version, keys: open(&sealed, &self.encryption)? }))
    }

    /// Stores a changed key set; `before` is the version that was changed.
    ///
    /// # Errors
    /// The database failed, or another command has changed the keys since.
    pub(crate) async fn store(&self, keys: &KeySet, before: i64, entropy: &Entropy) -> anyhow::Result<()> {
        let plain = serde_json::to_string(keys).context("writing the keys as JSON")?;
        let sealed = seal(&plain, OWNER, &self.encryption, entropy);
        ensure!(sealed.len() <= MAX_SEALED_BYTES, "the keys have more than {MAX_SEALED_BYTES} bytes: retire some");
        let set = SealedKeySet { version: before + 1, sealed };
        let is_stored = self.table.replace(&set).await.context("writing basalt.key_sets")?;
        ensure!(is_stored, "another command has changed the keys meanwhile: run this one again");
        Ok(())
    }
}

fn derive_encryption(jwt_secret: &str) -> Encryption {
    let derived = digest(&SHA256, format!("basalt.key_sets\0{jwt_secret}").as_bytes());
    let mut key = [0; 32];
    key.copy_from_slice(derived.as_ref());
    let keys = [(KEY_ID.to_owned(), SecretKey::new(key))].into_iter().collect();
    Encryption { encrypt_with: Some(KEY_ID.to_owned()), keys }
}

/// Decrypts a stored key set; one in plain text is refused.
fn open(sealed: &str, encryption: &Encryption) -> anyhow::Result<KeySet> {
    if sealed.len() > MAX_SEALED_BYTES || !is_sealed(sealed) {
        bail!("the keys in basalt.key_sets are damaged; delete the row to use only those of the configuration");
    }
    let plain = unseal(sealed, OWNER, encryption).ok().context(
        "the keys in basalt.key_sets were encrypted with another auth.jwt_secret: set that one again, or delete the row to \
         use only the keys of the configuration",
    )?;
    serde_json::from_str(&plain.plain).ok().context("the keys in basalt.key_sets are of a later version of basalt")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::key_set::{KeyKind, KeyState, ManagedKey};
    use super::*;

    proptest! {
        #[test]
        fn key_set_opens_with_its_secret_only(id in ".{1,40}", value in ".{0,80}", other in "[a-z]{32,40}") {
            let (kind, state) = (KeyKind::Secret, KeyState::Standby);
            let keys = KeySet { keys: vec![ManagedKey { id, kind, state, since: 7, value: json!(value) }], is_list: false };
            let plain = serde_json::to_string(&keys).expect("JSON");
            let encryption = derive_encryption("the secret of this test");
            let sealed = seal(&plain, OWNER, &encryption, &Entropy::from_seed(1));
            prop_assert_eq!(open(&sealed, &encryption).expect("it opens"), keys);
            prop_assert!(open(&sealed, &derive_encryption(&other)).is_err());
            prop_assert!(open(&plain, &encryption).is_err(), "plain text is refused");
        }

        #[test]
        fn damaged_text_is_refused(text in ".{0,200}") {
            prop_assert!(open(&text, &derive_encryption("the secret of this test")).is_err());
        }
    }
}
