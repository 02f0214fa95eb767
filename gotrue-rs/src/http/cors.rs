//! CORS: every origin is allowed, with credentials.
//!
//! Preflight requests are answered here and reach no route.

use axum::body::Body;
use axum::response::Response;
use gotrue_rules::domain::policy::ApiPolicy;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

const ALLOWED_METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// In lower case, as browsers send them.
const ALLOWED_HEADERS: [&str; 8] = [
    "accept",
    "authorization",
    "content-type",
    "x-client-ip",
    "x-client-info",
    "x-jwt-aud",
    "x-use-cookie",
    "x-supabase-api-version",
];

/// Whether the request is a CORS preflight.
pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Answers a preflight: 204, with the allow headers if method and headers are allowed.
pub fn preflight_response(policy: &ApiPolicy, request_headers: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let response_headers = response.headers_mut();
    response_headers.insert(
        VARY,
        HeaderValue::from_static("Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
    );
    let method = request_headers.get(ACCESS_CONTROL_REQUEST_METHOD).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let requested = request_headers.get(ACCESS_CONTROL_REQUEST_HEADERS);
    let names = requested.map(|it| it.to_str().unwrap_or("?")).unwrap_or_default();
    if request_headers.contains_key(ORIGIN) && ALLOWED_METHODS.contains(&method) && are_headers_allowed(policy, names) {
        response_headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        response_headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        if let Ok(method) = HeaderValue::from_str(method) {
            response_headers.insert(ACCESS_CONTROL_ALLOW_METHODS, method);
        }
        if let Some(requested) = requested.filter(|it| !it.is_empty()) {
            response_headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
        }
    }
    response
}

/// Whether all header names are allowed. They must be sorted and in lower case, as browsers send them.
fn are_headers_allowed(policy: &ApiPolicy, names: &str) -> bool {
    let names: Vec<&str> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let is_known = |name: &&str| {
        ALLOWED_HEADERS.contains(name)
            || policy.cors_allowed_headers.iter().any(|extra| extra.to_ascii_lowercase() == **name)
    };
    names.is_sorted() && names.iter().all(is_known)
}

/// Inserts the CORS headers of every response that is not a preflight's.
pub fn insert_cors_headers(response: &mut Response, origin: Option<&HeaderValue>) {
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if origin.is_some() {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("X-Total-Count, Link, X-Supabase-Api-Version"),
        );
    }
}
