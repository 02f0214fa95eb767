//! CORS headers of the gateway.
//! Any origin may call the API with a key, none with a browser's credentials.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

const ALLOWED_METHODS: &str = "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS";
const EXPOSED_HEADERS: &str = "X-Total-Count, Link, X-Supabase-Api-Version, X-Sb-Error-Code, X-Request-Id";
/// The headers that supabase-js sends: the default for a preflight that names none.
const DEFAULT_ALLOWED_HEADERS: &str = "apikey,authorization,content-type,x-client-info,x-supabase-api-version";

/// Returns whether a request is a CORS preflight.
pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Answers a preflight: every method and every header is allowed.
pub fn preflight_response(requested: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let names = requested.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(ALLOWED_METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.unwrap_or(HeaderValue::from_static(DEFAULT_ALLOWED_HEADERS)));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
    headers.insert(VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    response
}

/// Lets any origin read the response.
pub fn allow_any_origin(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    headers.remove(ACCESS_CONTROL_ALLOW_CREDENTIALS);
    headers.remove(VARY);
    response
}
