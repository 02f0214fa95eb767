//! Request handlers: a folder per noun, a file per verb.
//!
//! A handler parses, loads, decides, writes in one transaction and responds. No handler calls another; shared
//! operations are services.

pub mod admin;
pub mod external;
pub mod factors;
pub mod logout;
pub mod meta;
pub mod oauth_server;
pub mod passkeys;
pub mod passwordless;
pub mod scim;
pub mod sign_up;
pub mod sso;
pub mod token;
pub mod user;
pub mod verify;
