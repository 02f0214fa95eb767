//! Interfaces to the outside: hashing, keys, the texts of mails, SMS, captchas, identity providers.
//!
//! Tests replace these.

pub mod captcha;
pub mod hashing;
pub mod hooks;
pub mod keys;
pub mod mail;
pub mod oidc;
pub mod pwned;
pub mod saml;
pub mod sms;
