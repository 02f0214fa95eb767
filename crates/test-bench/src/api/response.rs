//! Responses of the test API.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

/// Returns a JSON response.
pub(super) fn json(status: StatusCode, value: &Value) -> Response {
    json_text(status, value.to_string())
}

/// Returns a JSON response whose body is formatted already.
pub(super) fn json_text(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns a response without content.
pub(super) fn empty() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
