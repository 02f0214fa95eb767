//! Errors of the message API.

use axum::response::Response;
use foundation::error_chain::ErrorChain;
use http::StatusCode;
use serde_json::json;

use crate::response;
use crate::store::StoreError;

/// A response that says what is wrong with a request, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: String,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: &str, hint: &str) -> Self {
        Self { status, code, message: message.to_owned(), hint: hint.to_owned() }
    }

    pub(crate) fn invalid(message: &str, hint: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_parameter", message, hint)
    }

    pub(crate) fn unknown_parameter(name: &str, known: &[&str]) -> Self {
        let hint = match known {
            [] => "leave it out: this call has no parameters".to_owned(),
            known => format!("the parameters are {}", known.join(", ")),
        };
        let name: String = name.chars().take(64).collect();
        Self::new(StatusCode::BAD_REQUEST, "unknown_parameter", &format!("there is no parameter `{name}`"), &hint)
    }

    pub(crate) fn unknown_message() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "message_not_found",
            "there is no message with this id",
            "it may have been deleted; GET the list of messages for the ids",
        )
    }

    pub(crate) fn into_response(self) -> Response {
        let body = json!({"code": self.code, "message": self.message, "hint": self.hint});
        response::json(self.status, &body)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownCursor => Self::new(
                StatusCode::NOT_FOUND,
                "message_not_found",
                "the parameter `after` is the id of no message",
                "it may have been deleted; give the id of an existing message, or `now`",
            ),
            StoreError::Database(cause) => {
                tracing::error!(error = %ErrorChain(&cause), "reading or writing messages failed");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "database_error",
                    "the messages could not be read or written",
                    "see the log of the server",
                )
            }
        }
    }
}
