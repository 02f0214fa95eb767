//! Decodes the form of the assertion consumer service, and builds its errors.
//! All error texts are the reference's.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use foundation::error::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::error::SamlError;
use super::response::unverified_issuer;
use crate::domain::external::profile::ProviderEmail;
use crate::domain::redirect::go_url::Url;
use crate::wire::uuid::parse_uuid;

/// Which side started the sign-in, according to `RelayState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamlFlow<'a> {
    /// SP-initiated: the id of the stored relay state.
    SpInitiated(Uuid),
    /// IdP-initiated: the redirect target, which may be empty.
    IdpInitiated(&'a str),
}

impl<'a> SamlFlow<'a> {
    /// Parses a UUID in any spelling, else a URL, a path, or an empty string.
    ///
    /// # Errors
    /// 400 for anything else.
    pub fn from_relay_state(relay_state: &'a str) -> Result<Self> {
        match parse_uuid(relay_state) {
            Some(id) if !id.is_nil() => Ok(Self::SpInitiated(id)),
            _ if relay_state.is_empty() || Url::is_request_uri(relay_state) => Ok(Self::IdpInitiated(relay_state)),
            _ => Err(Error::invalid("SAML RelayState is not a valid UUID or URL")),
        }
    }
}

/// Decodes the base64 of `SAMLResponse`, which may contain line breaks.
pub fn decode_response(response: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let text: String = response.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    String::from_utf8(GeneralPurpose::new(&STANDARD, config).decode(text).ok()?).ok()
}

/// Decodes an IdP-initiated response and reads its unverified issuer, which selects the provider.
pub fn decode_idp_initiated(response: &str, artifact: &str) -> Result<(String, String)> {
    if !artifact.is_empty() {
        return Err(Error::invalid("SAML Artifact response can only be used with SP initiated flow"));
    }
    if response.is_empty() {
        return Err(Error::invalid("SAMLResponse is missing"));
    }
    let xml = decode_response(response).ok_or_else(|| Error::invalid("SAMLResponse is not a valid Base64 string"))?;
    let issuer = unverified_issuer(&xml)
        .map_err(|refusal| Error::invalid("SAMLResponse is not a valid XML SAML assertion").with_cause(refusal))?;
    Ok((xml, issuer.unwrap_or_default()))
}

/// 404: the relay state does not exist or has been used.
pub fn relay_state_not_found() -> Error {
    Error::new(ErrorCode::SamlRelayStateNotFound, "SAML RelayState does not exist, try logging in again?")
}

/// 422: the relay state has expired.
pub fn relay_state_expired() -> Error {
    Error::new(ErrorCode::SamlRelayStateExpired, "SAML RelayState has expired. Try logging in again?")
}

/// 404: the SSO provider is disabled.
pub fn provider_disabled() -> Error {
    Error::new(ErrorCode::SsoProviderDisabled, "SSO Provider assigned for this domain is currently disabled")
}

/// 404: no SSO provider has that entity id.
pub fn provider_not_found() -> Error {
    let message = "A SAML connection has not been established with this Identity Provider";
    Error::new(ErrorCode::SamlIdpNotFound, message)
}

/// Requires that every asserted address lies in a domain of the provider; 403.
///
/// A provider without domains may assert any address.
pub fn require_provider_domain(emails: &[ProviderEmail], domains: &[String]) -> Result<()> {
    let lies_in = |email: &ProviderEmail, domain: &String| {
        email.address.rsplit_once('@').is_some_and(|(_, of_email)| of_email.eq_ignore_ascii_case(domain))
    };
    if domains.is_empty() || emails.iter().all(|email| domains.iter().any(|domain| lies_in(email, domain))) {
        return Ok(());
    }
    let message = "The address that the identity provider asserts lies in none of its domains";
    Err(Error::http(403, ErrorCode::ValidationFailed, message))
}

/// 400: the response is invalid.
/// As in the reference the message quotes it, unless `response` is `None`.
pub fn invalid_assertion(refusal: SamlError, response: Option<&str>) -> Error {
    let message = match response {
        Some(response) => format!("SAML Assertion is not valid {response}"),
        None => "SAML Assertion is not valid".to_owned(),
    };
    Error::invalid(message).with_cause(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relay_state_selects_flow() {
        let id = Uuid::from_u128(7);
        for text in [id.to_string(), id.simple().to_string(), id.braced().to_string(), id.urn().to_string()] {
            assert_eq!(SamlFlow::from_relay_state(&text).unwrap(), SamlFlow::SpInitiated(id));
        }
        for text in ["", "https://app.example.com/callback", "/local/path", "myapp://x"] {
            assert_eq!(SamlFlow::from_relay_state(text).unwrap(), SamlFlow::IdpInitiated(text));
        }
        for text in ["some words", "00000000-0000-0000-0000-000000000000", "app.example.com"] {
            let refused = SamlFlow::from_relay_state(text).unwrap_err();
            assert_eq!(refused.message(), "SAML RelayState is not a valid UUID or URL", "{text}");
        }
    }

    #[test]
    fn response_is_decoded_from_base64() {
        for (text, expected) in [
            ("PGEvPg==", Some("<a/>")),
            ("PGE\r\nvPg==\n", Some("<a/>")),
            ("", Some("")),
            ("PGEvPg", None),
            ("PGE vPg==", None),
            ("-_-_", None),
            ("/w==", None),
        ] {
            assert_eq!(decode_response(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn idp_initiated_response_is_validated_in_order() {
        let response = "<Response xmlns='urn:oasis:names:tc:SAML:2.0:protocol'><a:Issuer \
                        xmlns:a='urn:oasis:names:tc:SAML:2.0:assertion'>i</a:Issuer></Response>";
        let base64 = base64::engine::general_purpose::STANDARD.encode(response);
        assert_eq!(decode_idp_initiated(&base64, "").unwrap(), (response.to_owned(), "i".to_owned()));
        for (response, artifact, message) in [
            ("", "AAQ", "SAML Artifact response can only be used with SP initiated flow"),
            ("", "", "SAMLResponse is missing"),
            ("not base64!", "", "SAMLResponse is not a valid Base64 string"),
            ("aGVsbG8=", "", "SAMLResponse is not a valid XML SAML assertion"),
            ("PGEvPg==", "", "SAMLResponse is not a valid XML SAML assertion"),
        ] {
            assert_eq!(decode_idp_initiated(response, artifact).unwrap_err().message(), message);
        }
    }
}
