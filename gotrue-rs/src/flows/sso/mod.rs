//! Single sign-on through companies' identity providers.

pub mod metadata;
pub mod start;
