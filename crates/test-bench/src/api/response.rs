//! Responses of the test API.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::TestApiError;

/// Returns a JSON response.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Result<Response, TestApiError> {
    let text = serde_json::to_string(value).map_err(|error| TestApiError::internal("formatting an answer", &error))?;
    Ok(json_text(status, text))
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
