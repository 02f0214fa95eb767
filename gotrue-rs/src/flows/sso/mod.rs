//! Single sign-on through companies' identity providers.

pub mod acs;
pub mod metadata;
pub mod start;
