//! SAML 2.0 service provider: metadata, authentication requests and responses.

pub mod metadata;
pub mod request;
pub mod response;

use foundation::error::{Error, ErrorCode, Result};

use crate::ports::saml::SamlServiceProvider;
use crate::request_context::RequestContext;

/// The service provider; the route must have the guard `Saml`.
pub fn service_provider(cx: &RequestContext) -> Result<&SamlServiceProvider> {
    cx.app.saml.as_ref().ok_or_else(disabled_error)
}

/// 404: SAML is disabled.
pub fn disabled_error() -> Error {
    Error::new(ErrorCode::SamlProviderDisabled, "SAML 2.0 is disabled")
}
