//! All SQL of this crate: a file per table, a function per statement.
//!
//! Times are parameters, never `now()`.

pub mod accounts;
pub mod admin;
pub mod audit;
pub mod bulk;
pub mod challenges;
pub mod cleanup;
pub mod contact_changes;
pub mod custom_providers;
pub mod decoys;
pub mod elevation;
pub mod error;
pub mod exchanged_codes;
pub mod factors;
pub mod flow_state;
pub mod hooks;
pub mod identities;
pub mod insertion;
mod lease;
mod merged_metadata;
pub mod migrate;
pub mod oauth_authorizations;
pub mod oauth_client_states;
pub mod oauth_clients;
pub mod oauth_consents;
pub mod one_time_tokens;
pub mod outbox;
pub mod passkeys;
pub mod pool;
mod pool_state;
pub mod refresh_tokens;
pub mod rows;
pub mod saml_assertions;
pub mod saml_relay_states;
pub mod sessions;
pub mod sso_providers;
pub mod statement;
pub mod stored_passwords;
pub mod used_messages;
pub mod users;
pub mod webauthn_challenges;
pub mod webauthn_factors;

pub use error::{Error, OrInternalError, Result};
pub use pool::{Pool, PoolOptions};
/// Address, role and session settings of a PostgreSQL connection.
pub use sqlx::postgres::PgConnectOptions;
pub use statement::{Connection, SQL_LOG, Statement};

/// Returns all statements, for the test that prepares each against the schema.
pub fn list_statements() -> impl Iterator<Item = &'static Statement> {
    [
        accounts::ALL,
        admin::ALL,
        admin::deletion::ALL,
        admin::listing::ALL,
        audit::ALL,
        bulk::ALL,
        challenges::ALL,
        cleanup::ALL,
        contact_changes::ALL,
        custom_providers::ALL,
        decoys::ALL,
        elevation::ALL,
        exchanged_codes::ALL,
        factors::ALL,
        flow_state::ALL,
        flow_state::external::ALL,
        hooks::ALL,
        identities::ALL,
        oauth_authorizations::ALL,
        oauth_client_states::ALL,
        oauth_clients::ALL,
        oauth_consents::ALL,
        one_time_tokens::ALL,
        outbox::ALL,
        passkeys::ALL,
        refresh_tokens::ALL,
        saml_assertions::ALL,
        saml_relay_states::ALL,
        sessions::ALL,
        sso_providers::ALL,
        stored_passwords::ALL,
        used_messages::ALL,
        users::ALL,
        webauthn_challenges::ALL,
        webauthn_factors::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}
