//! The outside, tested through each port's own functions.

mod hashing;
mod keys;
mod mail;
mod outbox;
mod pages;
