//! HTTP tests, and tests of what the auth crate has inside.

mod admin;
mod config;
mod meta;
mod migrations;
mod passwordless;
mod ports;
mod structure;
mod user;
