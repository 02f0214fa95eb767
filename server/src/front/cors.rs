//! Cross-origin answers of the gateway: any page may call the API with its keys, and none with a browser's credentials.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

const METHODS: &str = "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS";
const EXPOSED: &str = "X-Total-Count, Link, X-Supabase-Api-Version, X-Sb-Error-Code, X-Request-Id";
/// What supabase-js sends; the answer where a preflight names no headers.
const HEADERS: &str = "apikey,authorization,content-type,x-client-info,x-supabase-api-version";

/// Whether the browser asks before it sends.
pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Every method and every header.
pub fn preflight(asked: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let names = asked.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.unwrap_or(HeaderValue::from_static(HEADERS)));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
    headers.insert(VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    response
}

/// Lets any page read the answer.
pub fn allowed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.remove(ACCESS_CONTROL_ALLOW_CREDENTIALS);
    headers.remove(VARY);
    response
}
