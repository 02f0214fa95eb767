//! Starts an SSO sign-in: selects the provider and validates the request.

use foundation::error::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::SsoProvider;
use crate::domain::pkce::{Challenge, UnknownMethod, validate_challenge_pair};
use crate::wire::requests::SsoRequest;

/// Which provider a request selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SsoProviderSelector<'a> {
    /// The provider with this id.
    Id(Uuid),
    /// The provider of this email domain.
    Domain(&'a str),
}

impl<'a> SsoProviderSelector<'a> {
    /// Reads the selector of a request; 400 `validation_failed` for both or neither.
    pub fn from_request(request: &'a SsoRequest) -> Result<Self> {
        match (request.provider_id, request.domain.as_str()) {
            (Some(id), "") => Ok(Self::Id(id)),
            (None, "") => Err(Error::invalid("A provider_id or domain needs to be provided")),
            (None, domain) => Ok(Self::Domain(domain)),
            (Some(_), _) => Err(Error::invalid("Only one of provider_id or domain supported")),
        }
    }

    /// 404: no provider matches.
    pub fn not_found(self) -> Error {
        let message = match self {
            Self::Id(_) => "No such SSO provider",
            Self::Domain(_) => "No SSO provider assigned for this domain",
        };
        Error::new(ErrorCode::SsoProviderNotFound, message)
    }
}

/// Checks that the provider is enabled (404) and the PKCE parameters are valid (400).
/// Returns the challenge, if any.
pub fn validate_start(provider: &SsoProvider, request: &SsoRequest) -> Result<Option<Challenge>> {
    if !provider.is_enabled() {
        return Err(Error::new(ErrorCode::SsoProviderDisabled, "SSO Provider is currently disabled"));
    }
    let pkce = &request.pkce;
    validate_challenge_pair(&pkce.challenge, &pkce.method)?;
    Challenge::new(&pkce.challenge, &pkce.method).map_err(UnknownMethod::into_invalid_request)
}

/// 422: the provider has no service with the HTTP-Redirect binding, the only supported one.
pub fn redirect_binding_unsupported() -> Error {
    Error::http(422, ErrorCode::ValidationFailed, "SSO Provider does not take sign-in requests by HTTP-Redirect")
}

#[cfg(test)]
mod tests {
    use foundation::time::Time;
    use serde_json::{Value, json};

    use super::super::creation::{self, EntityMetadata};
    use super::*;
    use crate::wire::requests::AdminSsoProvider;

    fn request(body: &Value) -> SsoRequest {
        SsoRequest::decode(body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn request_selects_exactly_one_provider() {
        let id = Uuid::from_u128(7);
        assert_eq!(
            SsoProviderSelector::from_request(&request(&json!({"provider_id": id}))).unwrap(),
            SsoProviderSelector::Id(id)
        );
        assert_eq!(
            SsoProviderSelector::from_request(&request(&json!({"domain": "a"}))).unwrap(),
            SsoProviderSelector::Domain("a")
        );
        for (body, message) in [
            (json!({}), "A provider_id or domain needs to be provided"),
            (json!({"provider_id": Uuid::nil()}), "A provider_id or domain needs to be provided"),
            (json!({"provider_id": id, "domain": "a"}), "Only one of provider_id or domain supported"),
        ] {
            assert_eq!(SsoProviderSelector::from_request(&request(&body)).unwrap_err().message(), message);
        }
        assert_eq!(SsoProviderSelector::Id(id).not_found().message(), "No such SSO provider");
        assert_eq!(SsoProviderSelector::Domain("a").not_found().message(), "No SSO provider assigned for this domain");
    }

    #[test]
    fn start_requires_enabled_provider_and_complete_pkce() {
        let described = EntityMetadata { entity_id: "e".into(), xml: "<e/>".into() };
        let mut provider =
            creation::build_provider(Uuid::nil(), AdminSsoProvider::default(), described, Time::UNIX_EPOCH);
        let challenge = "a".repeat(43);
        let whole = request(&json!({"domain": "a", "code_challenge": challenge, "code_challenge_method": "S256"}));
        let half = request(&json!({"domain": "a", "code_challenge": challenge}));
        let invalid = request(&json!({"domain": "a", "code_challenge": challenge, "code_challenge_method": "x"}));
        assert_eq!(validate_start(&provider, &request(&json!({"domain": "a"}))).unwrap(), None);
        assert_eq!(validate_start(&provider, &whole).unwrap().unwrap().value, challenge);
        let error = validate_start(&provider, &half).unwrap_err();
        assert_eq!(error.message(), "PKCE flow requires code_challenge_method and code_challenge");
        assert_eq!(validate_start(&provider, &invalid).unwrap_err().message(), "Invalid code_challenge_method");
        provider.disabled = Some(false);
        assert!(validate_start(&provider, &whole).is_ok());
        provider.disabled = Some(true);
        assert_eq!(validate_start(&provider, &half).unwrap_err().code().as_str(), "sso_provider_disabled");
    }
}
