//! Attacks on auth servers by class.
//!
//! The names of the tests start with the class that `SECURITY.md` lists (`a1_…` to `g8_…`).

mod access;
mod entry;
mod factors;
mod guessing;
mod hostile;
mod id_tokens;
mod links;
mod logs;
mod oauth_clients;
mod oauth_redirects;
mod oauth_scopes;
mod oauth_server;
mod passkeys;
mod passwordless;
mod providers;
mod redirects;
mod secrets;
mod security_keys;
mod sessions;
mod takeover;
