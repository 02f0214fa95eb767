//! This server as an OAuth 2.1 / `OpenID` Connect provider: a client asks, somebody consents, the client gets tokens.

pub mod authorizations;
pub mod authorize;
pub mod register;
pub mod token;
pub mod userinfo;
