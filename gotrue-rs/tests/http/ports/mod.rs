//! The outside, tested through each port's own functions.

mod hashing;
mod http_client;
pub(crate) mod internet;
mod keys;
mod limits;
pub(crate) mod mail;
mod oidc;
mod outbox;
pub(crate) mod pages;
mod redis_replies;
mod sealing;
mod sms;
