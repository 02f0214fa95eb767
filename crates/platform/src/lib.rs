//! What the services share and what is not auth: database, mail, time, randomness, outbound HTTP, limits, explanations.
//!
//! The crate knows the schema `basalt` and no other; it imports no service.

pub mod clock;
pub mod entropy;
pub mod event_webhook;
pub mod events;
pub mod explanation;
pub mod http_client;
pub mod journal;
pub mod limits;
pub mod mail;
pub mod nearest;
pub mod request_body;
pub mod request_info;
pub mod saml_keys;
pub mod sealing;
pub mod software_authenticator;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod webhook_signature;
