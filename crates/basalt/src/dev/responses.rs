//! Responses of the development pages.

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, StatusCode};

/// Content Security Policy of the pages, which use no scripts.
pub(super) const DEFAULT_POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Builds a response of plain text.
pub(super) fn text(status: StatusCode, text: &str) -> Response {
    response(status, "text/plain; charset=utf-8", DEFAULT_POLICY, text.as_bytes().to_vec())
}

/// Builds a response that is not stored and carries the Content Security Policy `policy`.
pub(super) fn response(
    status: StatusCode,
    content_type: &'static str,
    policy: &'static str,
    body: Vec<u8>,
) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns whether a request only reads.
pub(super) fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
