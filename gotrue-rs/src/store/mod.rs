//! All SQL of this crate: a file per table, a function per statement.
//!
//! Times are parameters, never `now()`. Modules with statements are declared in `statements!`, which lists them.

pub mod anonymise;
pub mod binding;
mod columns;
pub mod database_copy;
pub mod error;
mod hosts;
mod injected_rejection;
pub mod insertion;
mod lease;
mod literal;
mod merged_metadata;
pub mod migrate;
mod opening;
mod outage;
pub mod parts;
mod pending_tokens;
pub mod placeholders;
pub mod pool;
mod pool_options;
mod pool_state;
pub mod pooler;
mod quoting;
pub mod replica;
pub mod rows;
mod span;
pub mod statement;
mod stored_time;
mod values;

pub use binding::{BoundStatement, Statement};
pub use error::{Error, OrInternalError, Result};
pub use opening::{acquire_connection, open_connection};
pub use pool::{PausedPool, Pool, PoolOptions, is_temporary};
pub use pooler::{SessionSettings, StatementMode};
pub use replica::{AdminChange, Replica};
pub use span::SQL_LOG;
/// Address, role and session settings of a PostgreSQL connection.
pub use sqlx::postgres::PgConnectOptions;
pub use statement::Connection;

binding::statements! {
    modules {
        pub mod accounts;
        pub mod admin;
        pub mod audit;
        pub mod base_backup;
        pub mod bulk;
        pub mod challenges;
        pub mod cleanup;
        pub mod contact_changes;
        pub mod custom_providers;
        pub mod decoys;
        pub mod desk_sessions;
        pub mod elevation;
        pub mod exchanged_codes;
        pub mod factors;
        pub mod flow_state;
        pub mod hooks;
        pub mod identities;
        pub mod inspection;
        pub mod key_sets;
        pub mod leases;
        pub mod limit_counters;
        pub mod oauth_authorizations;
        pub mod oauth_client_states;
        pub mod oauth_clients;
        pub mod oauth_consents;
        pub mod one_time_tokens;
        pub mod outbox;
        pub mod passkeys;
        pub mod preset_sessions;
        pub mod preset_users;
        pub mod readiness;
        pub mod recovery_codes;
        pub mod refresh_rotation;
        pub mod refresh_tokens;
        pub mod replicas;
        pub mod replication;
        pub mod saml_assertions;
        pub mod saml_relay_states;
        pub mod sessions;
        pub mod sso_providers;
        pub mod stored_passwords;
        pub mod used_messages;
        pub mod users;
        pub mod webauthn_challenges;
        pub mod webauthn_factors;
    }
}

/// Returns all statements, for the tests that prepare each and check its plan.
pub fn list_statements() -> impl Iterator<Item = &'static Statement> {
    STATEMENTS.list().into_iter()
}
