//! Responses of the API.

use axum::body::Body;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde_json::Value;

/// Returns a response with a JSON body.
pub fn json(status: StatusCode, body: &Value) -> Response {
    json_text(status, body.to_string())
}

/// Returns a response with a JSON body that is formatted already.
pub(crate) fn json_text(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns 200 with a JSON body.
pub fn ok(body: &Value) -> Response {
    json(StatusCode::OK, body)
}

/// Returns 204.
pub fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
