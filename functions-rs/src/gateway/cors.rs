//! CORS for functions: any origin, never with credentials, on every answer. Who calls is told by a key or token in a header,
//! which a page must have; cookies play no part.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, OPTIONS");
/// What supabase-js may send; asked for by a preflight that does not say which headers it means.
const HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, x-client-info, apikey, content-type, x-region, x-retry-count, idempotency-key, traceparent, tracestate, \
     baggage",
);
const EXPOSED: HeaderValue = HeaderValue::from_static("sb-error-code, retry-after");
const ERROR_CODE: HeaderName = HeaderName::from_static("sb-error-code");

/// The answer to `OPTIONS`, for every name: whether a function exists is not told here.
pub(super) fn preflight(asked: &HeaderMap) -> Response {
    let names = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).filter(|value| is_list_of_names(value));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    allow(headers);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.cloned().unwrap_or(HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
    headers.insert(header::VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    response
}

/// Lets a page of any origin read an answer.
pub(super) fn allow(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

/// Marks an answer with the code of its error, as Supabase's gateway does.
pub(super) fn mark(headers: &mut HeaderMap, code: &'static str) {
    headers.insert(ERROR_CODE, HeaderValue::from_static(code));
}

fn is_list_of_names(value: &HeaderValue) -> bool {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b',' | b' ');
    value.len() <= 1024 && value.as_bytes().iter().all(token)
}
