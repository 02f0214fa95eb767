//! JSON shapes and how bodies are read.

pub mod audit;
pub mod discovery;
pub mod error;
pub mod external;
pub mod factor;
pub mod go_duration;
pub mod go_json;
pub mod go_quote;
pub mod hook;
pub mod identity;
pub mod link;
pub mod message;
pub mod oauth_server;
pub mod page;
pub mod passkey;
pub mod qr_code;
pub mod redirect;
pub mod requests;
pub mod saml;
pub mod session;
pub mod settings;
pub mod sso;
pub mod time;
pub mod user;
pub mod verify;
pub mod webauthn;
