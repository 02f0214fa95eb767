//! The SQL of schema `auth` and of the tables of auth in schema `basalt`: a file per table, a function per statement.
//!
//! Times are parameters, never `now()`. Modules with statements are declared in `statements!`, which lists them.

mod columns;
pub mod insertion;
pub mod migrate;
mod pending_tokens;
pub mod rows;

use platform::store::Statement;

platform::statements! {
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
        pub mod oauth_authorizations;
        pub mod oauth_client_states;
        pub mod oauth_clients;
        pub mod oauth_consents;
        pub mod one_time_tokens;
        pub mod passkeys;
        pub mod preset_sessions;
        pub mod preset_users;
        pub mod readiness;
        pub mod recovery_codes;
        pub mod refresh_rotation;
        pub mod refresh_tokens;
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
