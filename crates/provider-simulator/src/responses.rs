//! Responses of the simulator.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

/// Content Security Policy of responses that are no pages.
const NO_PAGE_POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Builds a response of plain text.
pub(crate) fn text(status: StatusCode, text: &str) -> Response {
    build(status, "text/plain; charset=utf-8", NO_PAGE_POLICY, text.as_bytes().to_vec())
}

/// Builds a response of JSON.
pub(crate) fn json(status: StatusCode, body: &Value) -> Response {
    build(status, "application/json", NO_PAGE_POLICY, body.to_string().into_bytes())
}

/// Builds the response of an OAuth endpoint to an invalid request.
pub(crate) fn oauth_error(status: StatusCode, error: &str) -> Response {
    json(status, &json!({ "error": error }))
}

/// Builds a response of a form.
pub(crate) fn form(status: StatusCode, form: String) -> Response {
    build(status, "application/x-www-form-urlencoded; charset=utf-8", NO_PAGE_POLICY, form.into_bytes())
}

/// Builds a page, whose forms send `Referer` to their own origin.
pub(crate) fn page(html: String, policy: &str) -> Response {
    let mut response = build(StatusCode::OK, "text/html; charset=utf-8", policy, html.into_bytes());
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// Builds a SAML metadata document.
pub(crate) fn metadata(body: String) -> Response {
    build(StatusCode::OK, "application/samlmetadata+xml", NO_PAGE_POLICY, body.into_bytes())
}

/// Builds a redirect to a URL with additional query parameters.
pub(crate) fn redirect(url: &str, parameters: &[(&str, &str)]) -> Response {
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    let separator = if url.contains('?') { '&' } else { '?' };
    let mut response = text(StatusCode::SEE_OTHER, "");
    if let Ok(location) = HeaderValue::from_str(&format!("{url}{separator}{query}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn build(status: StatusCode, content_type: &'static str, policy: &str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    let policy = HeaderValue::from_str(policy).unwrap_or_else(|_| HeaderValue::from_static(NO_PAGE_POLICY));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
