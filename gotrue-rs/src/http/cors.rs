//! Cross-origin rules: every origin, with credentials; preflights are answered here and never reach a route
//! (`endpoints.md` §1.7).

use axum::body::Body;
use axum::response::Response;
use gotrue_rules::domain::policy::ApiPolicy;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Lower case, as browsers send them.
const HEADERS: [&str; 8] = [
    "accept",
    "authorization",
    "content-type",
    "x-client-ip",
    "x-client-info",
    "x-jwt-aud",
    "x-use-cookie",
    "x-supabase-api-version",
];

/// Whether the browser asks first.
pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// 204, with permission if method and headers are on the lists.
pub fn preflight(policy: &ApiPolicy, asked: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let answer = response.headers_mut();
    answer.insert(
        VARY,
        HeaderValue::from_static("Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
    );
    let method = asked.get(ACCESS_CONTROL_REQUEST_METHOD).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let wanted = asked.get(ACCESS_CONTROL_REQUEST_HEADERS);
    let names = wanted.map(|it| it.to_str().unwrap_or("?")).unwrap_or_default();
    if asked.contains_key(ORIGIN) && METHODS.contains(&method) && are_allowed(policy, names) {
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        answer.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        if let Ok(method) = HeaderValue::from_str(method) {
            answer.insert(ACCESS_CONTROL_ALLOW_METHODS, method);
        }
        if let Some(wanted) = wanted.filter(|it| !it.is_empty()) {
            answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
    }
    response
}

/// Names must come sorted, in lower case, as browsers send them.
fn are_allowed(policy: &ApiPolicy, names: &str) -> bool {
    let names: Vec<&str> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let is_known = |name: &&str| {
        HEADERS.contains(name) || policy.cors_allowed_headers.iter().any(|extra| extra.to_ascii_lowercase() == **name)
    };
    names.is_sorted() && names.iter().all(is_known)
}

/// What every other answer carries.
pub fn mark(response: &mut Response, origin: Option<&HeaderValue>) {
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
