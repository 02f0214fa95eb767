//! The SQL of schema `auth` and of the tables of auth in schema `basalt`: a file per table, a function per statement.
//!
//! Times are parameters, never `now()`. `statements!` lists the modules with statements.

pub mod accounts;
pub mod admin;
pub mod audit;
pub mod bulk;
pub mod challenges;
pub mod cleanup;
mod columns;
pub mod contact_changes;
pub mod custom_providers;
pub mod decoys;
pub mod elevation;
pub mod exchanged_codes;
pub mod factors;
pub mod flow_state;
pub mod hooks;
pub mod identities;
pub mod insertion;
pub mod migrate;
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
pub mod rows;
pub mod saml_assertions;
pub mod saml_relay_states;
pub mod sessions;
pub mod sso_providers;
pub mod stored_passwords;
pub mod used_messages;
pub mod users;
pub mod webauthn_challenges;
pub mod webauthn_factors;

use platform::store::Statement;

platform::statements! {
    modules:
        accounts, admin, audit, bulk, challenges, cleanup, contact_changes, custom_providers, decoys, elevation,
        exchanged_codes, factors, flow_state, hooks, identities, oauth_authorizations, oauth_client_states,
        oauth_clients, oauth_consents, one_time_tokens, passkeys, preset_sessions, preset_users, readiness,
        recovery_codes, refresh_rotation, refresh_tokens, saml_assertions, saml_relay_states, sessions,
        sso_providers, stored_passwords, used_messages, users, webauthn_challenges, webauthn_factors;
}

/// Returns all statements, for the tests that prepare each and check its plan.
pub fn list_statements() -> impl Iterator<Item = &'static Statement> {
    STATEMENTS.list().into_iter()
}
