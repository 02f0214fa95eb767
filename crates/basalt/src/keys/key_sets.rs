//! `basalt.key_sets`: encrypted keys that the servers of this database share.

use std::sync::Arc;

use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::pool::Pool;
use platform::store::statement::Connection;

statements! {
    #[repeatable]
    FIND_OTHER_VERSION = "key_sets.find_other_version": "
        SELECT version, sealed
        FROM basalt.key_sets
        WHERE name = :name
          AND version <> :version";

    INSERT = "key_sets.insert": "
        INSERT INTO basalt.key_sets (name, version, sealed)
        VALUES (:name, :version, :sealed)
        ON CONFLICT (name) DO NOTHING";

    REPLACE = "key_sets.replace": "
        UPDATE basalt.key_sets
        SET version = :version,
            sealed = :sealed
        WHERE name = :name
          AND version = :version - 1";
}

/// An encrypted set of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SealedKeySet {
    /// Its version, from 1.
    pub version: i64,
    /// Its encrypted form.
    pub sealed: String,
}

/// The set of keys of a name.
#[derive(Debug, Clone)]
pub(crate) struct KeySetTable {
    pool: Pool,
    name: &'static str,
}

impl KeySetTable {
    /// Names a set.
    pub(crate) fn new(pool: Pool, name: &'static str) -> Self {
        Self { pool, name }
    }

    /// Returns the set, unless there is none or its version is `version`.
    pub(crate) async fn find_other_version(&self, version: i64) -> Result<Option<SealedKeySet>> {
        let found: Option<(i64, String)> =
            self.connection().fetch_optional(bind!(FIND_OTHER_VERSION, name: self.name, version)).await?;
        Ok(found.map(|(version, sealed)| SealedKeySet { version, sealed }))
    }

    /// Stores a set if the stored one has the preceding version; returns whether it had.
    ///
    /// Version 1 is stored if there is no set.
    pub(crate) async fn replace(&self, set: &SealedKeySet) -> Result<bool> {
        let (name, version, sealed) = (self.name, set.version, &*set.sealed);
        let mut db = self.connection();
        let changed = if version == 1 {
            db.execute(bind!(INSERT, name, version, sealed)).await?
        } else {
            db.execute(bind!(REPLACE, name, version, sealed)).await?
        };
        Ok(changed == 1)
    }

    fn connection(&self) -> Connection {
        Connection::pooled(self.pool.clone(), Arc::default())
    }
}
