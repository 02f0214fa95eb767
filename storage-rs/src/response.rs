//! Responses.

use std::sync::Arc;

use axum::body::Body;
use chrono::{DateTime, Utc};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use crate::error::Error;
use crate::error::policy_refusal::PolicyRefusal;

/// The type of answers.
const JSON: &str = "application/json; charset=utf-8";

/// A response with this body.
pub fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    json_of_type(status, JSON, body)
}

fn json_of_type(status: StatusCode, media_type: &'static str, body: &Value) -> Response<Body> {
    let text = body.to_string();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(text.len()));
    *response.body_mut() = Body::from(text);
    response
}

/// A response 200 with this text.
pub fn text(text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// A response 200 with this body.
pub fn ok(body: &Value) -> Response<Body> {
    json_response(StatusCode::OK, body)
}

/// A response 200 with a message alone.
pub fn message(text: &str) -> Response<Body> {
    ok(&json!({ "message": text }))
}

/// The response of the REST API to a request that failed.
pub fn failure(error: &Error) -> Response<Body> {
    error.log();
    let response = json_response(error.rest_status(), &error.body());
    with_refusal(with_retry_after(response, error.retry_after), error.refusal.as_ref())
}

/// Adds to a response after how many seconds a repetition may succeed.
pub(crate) fn with_retry_after(mut response: Response<Body>, seconds: Option<u64>) -> Response<Body> {
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Adds to a response why row security refused the request: the server around this one explains it.
pub(crate) fn with_refusal(mut response: Response<Body>, refusal: Option<&Arc<PolicyRefusal>>) -> Response<Body> {
    if let Some(refusal) = refusal {
        response.extensions_mut().insert(Arc::clone(refusal));
    }
    response
}

/// The response to a path or a method that there is not; `has_code` is that of the parts with errors of their own.
pub fn no_route(method: &str, target: &str, has_code: bool) -> Response<Body> {
    let message = format!("Route {method}:{target} not found");
    if has_code {
        let body = json!({"statusCode": "404", "error": "Not Found", "message": message, "code": "InvalidRequest"});
        return json_of_type(StatusCode::NOT_FOUND, "application/json", &body);
    }
    json_response(StatusCode::NOT_FOUND, &json!({"message": message, "error": "Not Found", "statusCode": 404}))
}

/// The response to a path whose percent encoding is malformed.
pub fn bad_path(path: &str) -> Response<Body> {
    let message = format!("'{path}' is not a valid url component");
    let body = json!({"error": "Bad Request", "code": "FST_ERR_BAD_URL", "message": message, "statusCode": 400});
    json_of_type(StatusCode::BAD_REQUEST, "application/json", &body)
}

/// A time as header fields have it (RFC 9110 §5.6.7).
pub fn http_date(time: DateTime<Utc>) -> String {
    time.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// A header value; `None` for a text with characters that none may have.
pub fn header_value(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_bytes(text.as_bytes()).ok()
}
