//! Errors of the test API: `{code, message, hint}`.

use bytes::Bytes;
use foundation::error_chain::ErrorChain;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde::Serialize;
use utoipa::ToSchema;

/// A refused call of the test API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TestApiError {
    /// The status of the response.
    pub status: StatusCode,
    /// A stable name of the error.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// A refused call.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub(crate) struct ErrorBody<'a> {
    /// A stable name of the error.
    code: &'a str,
    /// What is wrong.
    message: &'a str,
    /// What to do next.
    hint: &'a str,
}

impl TestApiError {
    /// Creates an error.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: hint.into() }
    }

    /// The request's content is invalid.
    pub fn bad_request(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message, hint)
    }

    /// What the path names does not exist.
    pub fn not_found(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message, hint)
    }

    /// The request conflicts with the present state.
    pub fn conflict(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message, hint)
    }

    /// The server failed; the log has the cause.
    pub fn internal(doing: &'static str, error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(doing, error = %ErrorChain(error), "a call of the test API failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal_error",
            format!("{doing} failed"),
            "the server's log has the cause",
        )
    }

    /// Returns the response: the status and a JSON object.
    pub fn to_response(&self) -> Response<Full<Bytes>> {
        let body = ErrorBody { code: self.code, message: &self.message, hint: &self.hint };
        let mut response = Response::new(Full::from(serde_json::to_vec(&body).unwrap_or_default()));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
