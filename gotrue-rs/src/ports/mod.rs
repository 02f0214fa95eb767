//! Interfaces to the outside: time, randomness, hashing, keys, mail, captchas, limits.
//!
//! Tests replace these.

pub mod captcha;
pub mod clock;
pub mod entropy;
pub mod hashing;
pub mod hooks;
pub mod http_client;
pub mod keys;
pub mod limits;
pub mod mail;
pub mod oidc;
pub mod pwned;
pub mod saml;
pub mod sealing;
pub mod sms;
pub mod software_authenticator;
