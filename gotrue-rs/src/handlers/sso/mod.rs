//! Single sign-on through SAML identity providers.

pub mod acs;
pub mod metadata;
pub mod start;
