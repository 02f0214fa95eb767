//! Classes of bugs that hit auth servers. Each test is named after the class in front of it: A links and redirects,
//! B whose account it becomes, C one-time secrets and sessions, D guessing, E second factors, F who may what, G hostile input.

mod access;
mod entry;
mod factors;
mod guessing;
mod hostile;
mod id_tokens;
mod links;
pub mod logs;
mod oauth_server;
mod passkeys;
mod passwordless;
mod providers;
mod redirects;
mod secrets;
mod security_keys;
mod sessions;
mod takeover;
