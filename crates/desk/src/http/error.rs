//! Errors of the API: `{"code", "message", "hint"?}`.

use axum::response::{IntoResponse, Response};
use foundation::error_chain::ErrorChain;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use platform::store;
use serde_json::{Value, json};

use super::respond;

/// A refused request.
#[derive(Debug)]
pub struct DeskError {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: Option<String>,
    retry_after: Option<u64>,
    members: Vec<(&'static str, Value)>,
}

impl DeskError {
    /// Creates an error of this status, code and text.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, retry_after: None, members: Vec::new() }
    }

    /// 400: the request cannot be read.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// 401: no session, or one that has ended.
    pub fn session_missing() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "desk_session_missing", "Sign in to the desk.")
    }

    /// 404: there is nothing of this name.
    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("{what} does not exist."))
    }

    /// 429: there were too many requests.
    pub fn too_many(message: impl Into<String>, retry_after: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message).retry_after(retry_after)
    }

    /// 503: a service that the desk needs does not answer.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message).retry_after(1)
    }

    /// 500: the log has the cause.
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "The server failed.")
            .hint("The server's log has the cause, with the request id of this response.")
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds the seconds after which the request may be repeated.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// Adds a member to the body.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.members.push((name, value.into()));
        self
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for DeskError {
    fn into_response(self) -> Response {
        let mut body = json!({ "code": self.code, "message": self.message });
        if let Some(hint) = self.hint {
            body["hint"] = hint.into();
        }
        for (name, value) in self.members {
            body[name] = value;
        }
        let mut response = respond::json(self.status, &body);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<store::Error> for DeskError {
    fn from(error: store::Error) -> Self {
        tracing::error!(error = %ErrorChain(&error), "a statement of the desk failed");
        if error.is_unavailable() {
            Self::unavailable("The database does not answer.").hint("Try again in a moment.")
        } else {
            Self::internal()
        }
    }
}

impl From<foundation::error::Error> for DeskError {
    fn from(error: foundation::error::Error) -> Self {
        tracing::error!(error = %ErrorChain(&error), "a request of the desk failed");
        Self::internal()
    }
}
