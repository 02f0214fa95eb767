//! This server as an OAuth 2.1 / `OpenID` Connect provider: authorization, consent, tokens, userinfo.

pub mod authorizations;
pub mod authorize;
pub mod register;
pub mod token;
pub mod userinfo;
