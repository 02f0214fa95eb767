//! What a service asks of an identity provider, and the form that brings the answer back.

use std::io::Read as _;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use gotrue_rules::domain::saml::xml::Xml;
use http::Request;
use http::header::CONTENT_TYPE;
use url::Url;
use url::form_urlencoded::Serializer;

/// A request as it stands in the address that a browser is sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `ID`: what the answer must name.
    pub id: String,
    /// Where the answer is to be brought.
    pub acs: String,
    /// What must come back with it.
    pub relay_state: String,
}

impl Asked {
    /// Reads the request in an address.
    pub fn of(address: &str) -> Self {
        let url = Url::parse(address).expect("an address");
        let value = |name| {
            let found = url.query_pairs().find(|(key, _)| key == name);
            found.map(|(_, value)| value.into_owned()).expect("a member of the query")
        };
        let packed = STANDARD.decode(value("SAMLRequest")).expect("base64");
        let mut text = String::new();
        DeflateDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("deflated text");
        let xml = Xml::parse(&text).expect("a request in XML");
        let attribute = |name| xml.root().attribute(name).expect("an attribute").to_owned();
        Self { id: attribute("ID"), acs: attribute("AssertionConsumerServiceURL"), relay_state: value("RelayState") }
    }
}

/// The form with a response in it, as a browser posts it.
pub fn form(response: &str, relay_state: Option<&str>) -> Request<Body> {
    let mut form = Serializer::new(String::new());
    form.append_pair("SAMLResponse", &STANDARD.encode(response));
    if let Some(relay_state) = relay_state {
        form.append_pair("RelayState", relay_state);
    }
    let request = Request::post("/sso/saml/acs").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    request.body(Body::from(form.finish())).expect("a request")
}
