//! How a response comes: brought by a browser in a form, with word of who had asked for it. All refusals are texts of the
//! reference.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use uuid::Uuid;

use super::Refusal;
use super::response::claimed_issuer;
use crate::domain::error::{Error, Result};
use crate::domain::redirect::go_url::Url;

/// Who started a sign-in, by its `RelayState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start<'a> {
    /// We did, and keep under this id what was asked.
    Ours(Uuid),
    /// The identity provider did, and may say where the person is to go.
    Theirs(&'a str),
}

impl<'a> Start<'a> {
    /// An id in any of its spellings; else a URL, a path, or nothing at all; 400 for anything else.
    pub fn of(relay_state: &'a str) -> Result<Self> {
        match Uuid::parse_str(relay_state) {
            Ok(id) if !id.is_nil() => Ok(Self::Ours(id)),
            _ if relay_state.is_empty() || Url::is_request_uri(relay_state) => Ok(Self::Theirs(relay_state)),
            _ => Err(Error::invalid("SAML RelayState is not a valid UUID or URL")),
        }
    }
}

/// The text of a response as it comes in a form: base64, perhaps in lines.
pub fn decoded(response: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let text: String = response.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    String::from_utf8(GeneralPurpose::new(&STANDARD, config).decode(text).ok()?).ok()
}

/// A response to nobody's request, and by whom it says that it is: which is not believed, only tried.
pub fn unasked(response: &str, artifact: &str) -> Result<(String, String)> {
    if !artifact.is_empty() {
        return Err(Error::invalid("SAML Artifact response can only be used with SP initiated flow"));
    }
    if response.is_empty() {
        return Err(Error::invalid("SAMLResponse is missing"));
    }
    let xml = decoded(response).ok_or_else(|| Error::invalid("SAMLResponse is not a valid Base64 string"))?;
    let issuer = claimed_issuer(&xml)
        .map_err(|refusal| Error::invalid("SAMLResponse is not a valid XML SAML assertion").because(refusal))?;
    Ok((xml, issuer.unwrap_or_default()))
}

/// 404: nobody asked, or somebody has answered already.
pub fn unknown_relay_state() -> Error {
    Error::not_found("saml_relay_state_not_found", "SAML RelayState does not exist, try logging in again?")
}

/// 422: the answer took too long.
pub fn expired_relay_state() -> Error {
    Error::unprocessable("saml_relay_state_expired", "SAML RelayState has expired. Try logging in again?")
}

/// 404: the company has been switched off.
pub fn disabled() -> Error {
    Error::not_found("sso_provider_disabled", "SSO Provider assigned for this domain is currently disabled")
}

/// 404: nobody knows that identity provider.
pub fn unknown_provider() -> Error {
    let message = "A SAML connection has not been established with this Identity Provider";
    Error::not_found("saml_idp_not_found", message)
}

/// 400: the response is not believed. It is quoted, as recorded, unless it is to be withheld.
pub fn refused(refusal: Refusal, response: Option<&str>) -> Error {
    let message = match response {
        Some(response) => format!("SAML Assertion is not valid {response}"),
        None => "SAML Assertion is not valid".to_owned(),
    };
    Error::invalid(message).because(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relay_state_says_who_started() {
        let id = Uuid::from_u128(7);
        for text in [id.to_string(), id.simple().to_string(), id.braced().to_string(), id.urn().to_string()] {
            assert_eq!(Start::of(&text).unwrap(), Start::Ours(id));
        }
        for text in ["", "https://app.example.com/callback", "/local/path", "myapp://x"] {
            assert_eq!(Start::of(text).unwrap(), Start::Theirs(text));
        }
        for text in ["some words", "00000000-0000-0000-0000-000000000000", "app.example.com"] {
            let refused = Start::of(text).unwrap_err();
            assert_eq!(refused.message(), "SAML RelayState is not a valid UUID or URL", "{text}");
        }
    }

    #[test]
    fn a_response_comes_in_base64() {
        for (text, expected) in [
            ("PGEvPg==", Some("<a/>")),
            ("PGE\r\nvPg==\n", Some("<a/>")),
            ("", Some("")),
            ("PGEvPg", None),
            ("PGE vPg==", None),
            ("-_-_", None),
            ("/w==", None),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_comes_unasked_is_looked_at_in_one_order() {
        let response = "<Response xmlns='urn:oasis:names:tc:SAML:2.0:protocol'><a:Issuer \
                        xmlns:a='urn:oasis:names:tc:SAML:2.0:assertion'>i</a:Issuer></Response>";
        let base64 = base64::engine::general_purpose::STANDARD.encode(response);
        assert_eq!(unasked(&base64, "").unwrap(), (response.to_owned(), "i".to_owned()));
        for (response, artifact, message) in [
            ("", "AAQ", "SAML Artifact response can only be used with SP initiated flow"),
            ("", "", "SAMLResponse is missing"),
            ("not base64!", "", "SAMLResponse is not a valid Base64 string"),
            ("aGVsbG8=", "", "SAMLResponse is not a valid XML SAML assertion"),
            ("PGEvPg==", "", "SAMLResponse is not a valid XML SAML assertion"),
        ] {
            assert_eq!(unasked(response, artifact).unwrap_err().message(), message);
        }
    }
}
