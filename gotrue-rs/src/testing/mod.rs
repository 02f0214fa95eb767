//! Test support: a database per test with the schema of auth, and a client of the public router.
//!
//! Compiled only with the feature `testing`.

mod authenticator;
mod database;
mod factors;
pub mod identity_provider;
mod issuer;
mod oauth_app;
mod phones;
mod provider;
mod receiver;
mod users;
mod world;

pub use authenticator::{ORIGIN, enable_webauthn, new_authenticator};
pub use database::clone_migrated;
pub use factors::TotpFactor;
pub use issuer::{DOCUMENT, Issuer, KEYS};
pub use oauth_app::{CALLBACK, CHALLENGE, OAuthClient, VERIFIER, encode_form, parse_query};
pub use phones::Phones;
pub use provider::{FakeProvider, RecordedRequest, RedirectTarget};
pub use receiver::{HookCall, HookServer, json_response};
pub use users::{PASSWORD, TestUser};
pub use world::{SECRET, World, WorldBuilder};
