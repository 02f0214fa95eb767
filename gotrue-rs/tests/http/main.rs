//! HTTP tests, and tests of what the auth crate has inside.

mod admin;
mod bodies;
mod captcha;
mod config;
mod errors;
mod factors;
mod hooks;
mod limits;
mod mail;
mod meta;
mod migrations;
mod passkeys;
mod password;
mod passwordless;
mod ports;
mod refresh;
mod refresh_lanes;
mod sessions;
mod sign_in;
mod sign_up;
mod structure;
mod threats;
mod upkeep;
mod user;
mod verify;
