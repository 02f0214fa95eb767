//! The outside, tested through each port's own functions.

mod hashing;
mod http_client;
pub mod internet;
mod keys;
mod limits;
pub mod mail;
mod oidc;
mod outbox;
pub mod pages;
mod sealing;
mod sms;
