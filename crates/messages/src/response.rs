//! Responses of this crate: never stored, never sniffed, never run as a page.

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use serde_json::Value;

/// Content Security Policy of everything that is no page: it runs nothing and loads nothing.
const DATA_POLICY: &str = "sandbox; default-src 'none'; frame-ancestors 'none'";
/// Content Security Policy of a displayed mail: everything external is blocked.
const MAIL_POLICY: &str =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/// Builds a JSON response.
pub(crate) fn json(status: StatusCode, body: &Value) -> Response {
    bytes(status, "application/json", body.to_string().into_bytes())
}

/// Builds a response of plain text.
pub(crate) fn text(status: StatusCode, body: impl Into<String>) -> Response {
    bytes(status, "text/plain; charset=utf-8", body.into().into_bytes())
}

/// Builds a response without a body.
pub(crate) fn no_content() -> Response {
    let mut response = bytes(StatusCode::NO_CONTENT, "", Vec::new());
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

/// Builds the response that displays the HTML of a mail.
pub(crate) fn mail_html(html: &str) -> Response {
    let mut response = bytes(StatusCode::OK, "text/html; charset=utf-8", html.as_bytes().to_vec());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(MAIL_POLICY));
    response
}

/// Builds a response of any type; an invalid type becomes `application/octet-stream`.
pub(crate) fn bytes(status: StatusCode, content_type: &str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let octets = HeaderValue::from_static("application/octet-stream");
    headers.insert(CONTENT_TYPE, HeaderValue::from_str(content_type).unwrap_or(octets));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(DATA_POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
