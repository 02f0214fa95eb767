//! A folder per noun, a file per verb: parse, guard, read facts, decide, perform in one transaction, answer.
//! No flow calls another; what two need is a service.

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
