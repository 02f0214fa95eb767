//! The state of the database that decides whether a process can serve requests.

use std::sync::Arc;

use platform::store::binding::{bind, statements};
use platform::store::pool::Pool;
use platform::store::statement::Connection;
use platform::store::{Result, migrate};

statements! {
    IS_WRITABLE = "readiness.is_writable": "
        SELECT NOT pg_is_in_recovery()
               AND current_setting('transaction_read_only') = 'off' AS holds";

    /// The newest table and the newest column of an older table that statements need.
    HAS_AUTH_SCHEMA = "readiness.has_auth_schema":
        "SELECT to_regclass('webauthn_challenges') IS NOT NULL
                AND EXISTS (SELECT FROM pg_attribute
                            WHERE attrelid = to_regclass('custom_oauth_providers')
                              AND attname = 'custom_claims_allowlist'
                              AND NOT attisdropped) AS holds";

    #[repeatable]
    HAS_BASALT_FILE = "readiness.has_basalt_file":
        "SELECT EXISTS (SELECT FROM basalt.migrations WHERE name = :name) AS holds";
}

/// The state of the database; what cannot be determined does not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatabaseState {
    /// The database answers.
    pub is_reachable: bool,
    /// It accepts writes: it is a primary, and no setting makes transactions read-only.
    pub is_writable: bool,
    /// The schemas have what this server needs.
    pub has_schema: bool,
}

impl DatabaseState {
    /// Whether a process can serve requests.
    pub fn is_usable(self) -> bool {
        self.is_reachable && self.is_writable && self.has_schema
    }
}

/// Reads the state of the database; `has_basalt` says whether schema `basalt` is used, too.
///
/// Later versions of the schemas are accepted: during a rolling update a newer server has migrated them.
pub async fn read_state(pool: &Pool, has_basalt: bool) -> DatabaseState {
    let mut db = Connection::pooled(pool.clone(), Arc::default());
    let is_writable = match db.fetch_one::<(bool,)>(bind!(IS_WRITABLE)).await {
        Ok(outcome) => outcome.0,
        Err(error) => {
            tracing::debug!(%error, "the database is not reachable for the readiness check");
            return DatabaseState::default();
        }
    };
    let has_schema = match has_schema(&mut db, has_basalt).await {
        Ok(has_schema) => has_schema,
        Err(error) if error.is_unavailable() => return DatabaseState::default(),
        // Schema basalt does not exist, or this role may not read it.
        Err(_) => false,
    };
    DatabaseState { is_reachable: true, is_writable, has_schema }
}

async fn has_schema(db: &mut Connection, has_basalt: bool) -> Result<bool> {
    if !db.fetch_one::<(bool,)>(bind!(HAS_AUTH_SCHEMA)).await?.0 {
        return Ok(false);
    }
    let name = migrate::FILES.last().map_or("", |file| file.name);
    Ok(!has_basalt || db.fetch_one::<(bool,)>(bind!(HAS_BASALT_FILE, name)).await?.0)
}
