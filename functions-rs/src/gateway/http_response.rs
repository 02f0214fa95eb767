//! Responses and errors as HTTP.
//! Failures are logged here only.

use axum::body::Body;
use axum::response::Response;
use foundation::error_chain::ErrorChain;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::function::{Answer, FunctionError};

/// The error code as a header, as Supabase's gateway sends it.
const ERROR_CODE_HEADER: HeaderName = HeaderName::from_static("sb-error-code");

/// The body of an error response.
#[derive(Debug, Serialize)]
struct ErrorBody<'a> {
    code: &'a str,
    message: &'a str,
}

pub(super) fn build_response(function: &str, outcome: Result<Answer, FunctionError>) -> Response {
    let mut response = match outcome {
        Ok(answer) => response_with_body(answer.status, answer.content_type, Body::from(answer.body)),
        Err(error) => error_response(function, &error),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn error_response(function: &str, error: &FunctionError) -> Response {
    log_error(function, error);
    let body = serde_json::to_vec(&ErrorBody { code: error.code, message: &error.message }).unwrap_or_default();
    let mut response = response_with_body(error.status, "application/json", Body::from(body));
    let headers = response.headers_mut();
    headers.insert(ERROR_CODE_HEADER, HeaderValue::from_static(error.code));
    if let Some(after) = error.retry_after {
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    if let Some(allow) = error.allow {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    response
}

fn response_with_body(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn log_error(function: &str, error: &FunctionError) {
    let status = error.status.as_u16();
    match &error.cause {
        Some(cause) => {
            tracing::error!(function, status, code = error.code, error = %ErrorChain(cause), "function failed");
        }
        None if status >= 500 => tracing::error!(function, status, code = error.code, "function failed"),
        None => {}
    }
}
