//! What tests build their worlds from: a database of their own, a clock that they hold, seeded entropy, and a client
//! that goes through the public door. Only with the feature `testing`.

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
mod people;
mod phones;
mod postgres;
mod provider;
mod receiver;
mod wallet;
mod world;

pub use answer::Answer;
pub use authenticator::{Authenticator, ORIGIN, with_keys};
pub use clock::FakeClock;
pub use database::TestDatabase;
pub use factors::AppFactor;
pub use faults::{FaultPlan, Gate, Stepper};
pub use issuer::{DOCUMENT, Issuer, KEYS};
pub use ledger::{Ledger, Rows, dropped_at, dropped_when, out_of_time_at, written};
pub use load::load;
pub use mailbox::Mailbox;
pub use oauth_app::{CALLBACK, CHALLENGE, OAuthApp, VERIFIER, encoded, query_of};
pub use people::{PASSWORD, Person};
pub use phones::Phones;
pub use provider::{Asked, FakeProvider, Sent};
pub use receiver::{Call, Receiver, said};
pub use wallet::Wallet;
pub use world::{SECRET, World, WorldBuilder};
