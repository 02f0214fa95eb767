//! CORS of the functions: any origin, never with credentials, on every response.
//! Requests authenticate by a key or token in a header, never by cookies.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, OPTIONS");
/// The headers that supabase-js may send: the default for a preflight that names none.
const DEFAULT_ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, x-client-info, apikey, content-type, x-region, x-retry-count, idempotency-key, traceparent, tracestate, \
     baggage",
);
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("sb-error-code, retry-after");
const ERROR_CODE_HEADER: HeaderName = HeaderName::from_static("sb-error-code");

/// Answers `OPTIONS` for every name, so that it does not reveal whether a function exists.
pub(super) fn preflight_response(requested: &HeaderMap) -> Response {
    let names = requested.get(header::ACCESS_CONTROL_REQUEST_HEADERS).filter(|value| is_header_list(value));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    allow_any_origin(headers);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.cloned().unwrap_or(DEFAULT_ALLOWED_HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
    headers.insert(header::VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    response
}

/// Allows pages of any origin to read a response.
pub(super) fn allow_any_origin(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
}

/// Adds the error code as a header, as Supabase's gateway does.
pub(super) fn insert_error_code(headers: &mut HeaderMap, code: &'static str) {
    headers.insert(ERROR_CODE_HEADER, HeaderValue::from_static(code));
}

fn is_header_list(value: &HeaderValue) -> bool {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b',' | b' ');
    value.len() <= 1024 && value.as_bytes().iter().all(token)
}
