//! The built-in consent page at `/_dev/consent`, for operators without one.
//! It signs the user in, shows the request of the OAuth client, and submits the decision. The file is static; its
//! script, built from `frontend/development/consent`, reads everything from the auth API.
//!
//! Browsers navigate to it from any site, and may do so from other machines: the page contains no secrets, must not be
//! framed, and its script has no privileges beyond those of the signed-in user.

use axum::extract::Request;
use axum::response::Response;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use provider_simulator::fill_template;
use url::Url;

use super::access::AccessRule;
use super::responses;

/// The page's path.
pub(crate) const PATH: &str = "/_dev/consent";
const PAGE_TEMPLATE: &str = include_str!("../../../../../frontend/development/consent/page.html");
const STYLE: &str = concat!(
    include_str!("../../../../../frontend/development/base.css"),
    include_str!("../../../../../frontend/development/consent/page.css")
);
const SCRIPT: &str = include_str!("../../../../../frontend/dist/development/consent/page.js");
/// Only the script sends forms.
const CONSENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// The page, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct ConsentPage {
    html: String,
    authority: String,
}

impl ConsentPage {
    /// Creates the page of a server with the public URL `url`.
    pub(crate) fn new(url: &str, publishable_key: &str) -> Self {
        let authority = Url::parse(url).map(|url| url.authority().to_ascii_lowercase()).unwrap_or_default();
        Self { html: fill_template(PAGE_TEMPLATE, |_| publishable_key), authority }
    }

    /// Public: without a page of the operator, real users use it.
    pub(super) fn access_rule(&self) -> AccessRule<'_> {
        AccessRule::Public { authority: &self.authority }
    }

    /// Answers a request below [`PATH`] that passed access control.
    pub(super) fn answer(&self, request: &Request) -> Response {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return responses::text(StatusCode::METHOD_NOT_ALLOWED, "this page is only read\n");
        }
        match request.uri().path().strip_prefix(PATH) {
            Some("") => file_response("text/html; charset=utf-8", &self.html),
            Some("/page.css") => file_response("text/css; charset=utf-8", STYLE),
            Some("/page.js") => file_response("text/javascript; charset=utf-8", SCRIPT),
            _ => responses::text(StatusCode::NOT_FOUND, "the page that asks for consent is at /_dev/consent\n"),
        }
    }
}

/// Returns whether the path belongs to the page.
pub(crate) fn is_consent_path(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn file_response(content_type: &'static str, content: &str) -> Response {
    let mut response = responses::response(StatusCode::OK, content_type, CONSENT_POLICY, content.as_bytes().to_vec());
    response.headers_mut().insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests;
