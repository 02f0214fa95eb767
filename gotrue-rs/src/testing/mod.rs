//! Test support: a database per test, a fake clock, seeded entropy, and a client of the public router.
//!
//! Compiled only with the feature `testing`.

mod answer;
mod authenticator;
mod clock;
mod database;
mod factors;
mod faults;
pub mod identity_provider;
mod issuer;
mod ledger;
mod load;
mod mailbox;
mod oauth_app;
mod phones;
mod postgres;
mod provider;
mod receiver;
mod recorder;
mod users;
mod wallet;
mod world;

pub use answer::Answer;
pub use authenticator::{Authenticator, ORIGIN, enable_webauthn};
pub use clock::FakeClock;
pub use database::TestDatabase;
pub use factors::TotpFactor;
pub use faults::{FaultPlan, Gate, Stepper};
pub use issuer::{DOCUMENT, Issuer, KEYS};
pub use ledger::{DatabaseInspector, RowSnapshot, diff_rows, drop_at_poll, drop_when, expire_at_poll};
pub use load::scaled_load;
pub use mailbox::Mailbox;
pub use oauth_app::{CALLBACK, CHALLENGE, OAuthClient, VERIFIER, encode_form, parse_query};
pub use phones::Phones;
pub use postgres::find_postgres;
pub use provider::{FakeProvider, RecordedRequest, RedirectTarget};
pub use receiver::{HookCall, HookServer, json_response};
pub use recorder::{RecordedEvent, RecordedFields, RecordedSpan, Recording};
pub use users::{PASSWORD, TestUser};
pub use wallet::Wallet;
pub use world::{SECRET, World, WorldBuilder};
