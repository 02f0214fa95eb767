//! Authentication requests of the HTTP-Redirect binding (SAML 2.0 Bindings §3.4).

use std::io::Read as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use gotrue_rules::domain::saml::xml::XmlDocument;

/// Maximum size of a request, in bytes of XML.
const MAX_REQUEST_BYTES: u64 = 64 * 1024;
const REFUSAL: &str = "SAMLRequest is missing or no authentication request: begin at /auth/v1/sso\n";

/// An authentication request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthnRequest {
    pub id: String,
    /// `AssertionConsumerServiceURL`.
    pub consumer_url: String,
}

impl AuthnRequest {
    /// Parses the parameter `SAMLRequest`: deflated XML in base64.
    pub(super) fn parse(encoded: &str) -> Result<Self, &'static str> {
        let packed = STANDARD.decode(encoded).map_err(|_| REFUSAL)?;
        let mut xml = String::new();
        let mut limited = DeflateDecoder::new(packed.as_slice()).take(MAX_REQUEST_BYTES);
        limited.read_to_string(&mut xml).map_err(|_| REFUSAL)?;
        let document = XmlDocument::parse(&xml).map_err(|_| REFUSAL)?;
        let attribute = |name| document.root().attribute(name).map(str::to_owned).ok_or(REFUSAL);
        Ok(Self { id: attribute("ID")?, consumer_url: attribute("AssertionConsumerServiceURL")? })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use proptest::prelude::*;

    use super::*;

    fn encode(xml: &str) -> String {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(xml.as_bytes()).expect("written");
        STANDARD.encode(encoder.finish().expect("deflated"))
    }

    #[test]
    fn request_has_id_and_consumer_url() {
        let parsed = AuthnRequest::parse(&encode("<a ID=\"i\" AssertionConsumerServiceURL=\"http://h/acs\"/>"));
        assert_eq!(parsed, Ok(AuthnRequest { id: "i".into(), consumer_url: "http://h/acs".into() }));
        assert_eq!(AuthnRequest::parse(&encode("<a ID=\"i\"/>")), Err(REFUSAL));
        let long = format!("<a ID=\"i\" AssertionConsumerServiceURL=\"{}\"/>", " ".repeat(70_000));
        assert_eq!(AuthnRequest::parse(&encode(&long)), Err(REFUSAL));
    }

    proptest! {
        #[test]
        fn other_text_is_refused(text in ".{0,100}") {
            prop_assert_eq!(AuthnRequest::parse(&text), Err(REFUSAL));
            prop_assert_eq!(AuthnRequest::parse(&encode(&text)), Err(REFUSAL));
        }
    }
}
