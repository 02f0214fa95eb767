//! The page that asks for consent where the operator has none, at `/_dev/consent`: it signs somebody in, shows what an
//! app asks, and takes the answer back. The same file for everybody; what it shows it asks the auth API for.
//!
//! A browser has to come here from any site, and may from other machines: the page keeps no secrets, is framed by nobody,
//! and its script has no power but that of who signs in on it.

use axum::extract::Request;
use axum::response::Response;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use url::Url;

use super::access::Audience;
use super::page::escaped;

/// Where it is.
pub const PATH: &str = "/_dev/consent";
const PAGE: &str = include_str!("../../../../frontend/consent/page.html");
const STYLE: &str = include_str!("../../../../frontend/consent/page.css");
const SCRIPT: &str = include_str!("../../../../frontend/consent/page.js");
/// Its script sends its forms, nothing else does.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// The page, ready to be sent.
#[derive(Debug, Clone)]
pub struct Page {
    html: String,
    authority: String,
}

impl Page {
    /// For a server that the world reaches at `url`.
    pub fn new(url: &str, publishable_key: &str) -> Self {
        let authority = Url::parse(url).map(|url| url.authority().to_ascii_lowercase()).unwrap_or_default();
        Self { html: PAGE.replace("{{publishable_key}}", &escaped(publishable_key)), authority }
    }

    /// Everybody: it is the page of real users where the operator has none.
    pub(super) fn audience(&self) -> Audience<'_> {
        Audience::Everybody { authority: &self.authority }
    }

    /// Answers a request below [`PATH`] that was let in.
    pub(super) fn answer(&self, request: &Request) -> Response {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return super::text(StatusCode::METHOD_NOT_ALLOWED, "this page is only read\n");
        }
        match request.uri().path().strip_prefix(PATH) {
            Some("") => file("text/html; charset=utf-8", &self.html),
            Some("/page.css") => file("text/css; charset=utf-8", STYLE),
            Some("/page.js") => file("text/javascript; charset=utf-8", SCRIPT),
            _ => super::text(StatusCode::NOT_FOUND, "the page that asks for consent is at /_dev/consent\n"),
        }
    }
}

/// Whether the path is the page's.
pub fn is_below(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn file(content_type: &'static str, content: &str) -> Response {
    let mut response = super::response(StatusCode::OK, content_type, POLICY, content.as_bytes().to_vec());
    response.headers_mut().insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests;
