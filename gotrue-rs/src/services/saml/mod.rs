//! SAML 2.0 as a service provider: what we say of ourselves, what identity providers say of themselves, and the request
//! that somebody wants to sign in.

pub mod metadata;
pub mod request;
pub mod response;

use gotrue_rules::domain::error::{Error, Result};

use crate::cx::Cx;
use crate::ports::saml::SamlIdentity;

/// Ourselves; the route table puts the guard `Saml` before every handler that asks.
pub fn ourselves(cx: &Cx) -> Result<&SamlIdentity> {
    cx.app.saml.as_ref().ok_or_else(disabled)
}

/// 404: SAML is off.
pub fn disabled() -> Error {
    Error::not_found("saml_provider_disabled", "SAML 2.0 is disabled")
}
