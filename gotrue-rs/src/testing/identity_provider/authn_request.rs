//! The authentication request of a service provider, and the form that posts the response.

use std::io::Read as _;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use gotrue_rules::domain::saml::xml::XmlDocument;
use http::Request;
use http::header::CONTENT_TYPE;
use url::Url;
use url::form_urlencoded::Serializer;

/// An authentication request of the HTTP-Redirect binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthnRequest {
    /// `ID`, the value of `InResponseTo` in the response.
    pub id: String,
    /// The assertion consumer service URL.
    pub acs: String,
    /// `RelayState`, which the response returns.
    pub relay_state: String,
}

impl AuthnRequest {
    /// Parses the request of a redirect URL.
    pub fn from_redirect(address: &str) -> Self {
        let url = Url::parse(address).expect("an address");
        let value = |name| {
            let found = url.query_pairs().find(|(key, _)| key == name);
            found.map(|(_, value)| value.into_owned()).expect("a member of the query")
        };
        let packed = STANDARD.decode(value("SAMLRequest")).expect("base64");
        let mut text = String::new();
        DeflateDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("deflated text");
        let xml = XmlDocument::parse(&text).expect("a request in XML");
        let attribute = |name| xml.root().attribute(name).expect("an attribute").to_owned();
        Self { id: attribute("ID"), acs: attribute("AssertionConsumerServiceURL"), relay_state: value("RelayState") }
    }
}

/// The HTTP-POST request with a response.
pub fn acs_form_request(response: &str, relay_state: Option<&str>) -> Request<Body> {
    let mut form = Serializer::new(String::new());
    form.append_pair("SAMLResponse", &STANDARD.encode(response));
    if let Some(relay_state) = relay_state {
        form.append_pair("RelayState", relay_state);
    }
    let request = Request::post("/sso/saml/acs").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    request.body(Body::from(form.finish())).expect("a request")
}
