//! Requests to the APIs of Mailpit and Inbucket, and their errors.

use axum::response::Response;
use foundation::error_chain::ErrorChain;
use http::header::{CONNECTION, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderValue, Method, StatusCode};
use serde_json::json;

use crate::response;
use crate::store::StoreError;

/// A request to one of the APIs.
#[derive(Debug, Clone, Copy)]
pub struct MailboxRequest<'a> {
    pub method: &'a Method,
    /// The path below the base URL of the API, such as `/api/v1/messages`.
    pub path: &'a str,
    /// The query without `?`.
    pub query: &'a str,
    pub body: &'a [u8],
}

/// Returns the segments of a path.
pub(crate) fn split_path(path: &str) -> Vec<&str> {
    path.split('/').filter(|segment| !segment.is_empty()).collect()
}

/// The result of a handler.
pub(crate) type Answer = Result<Response, AnswerError>;

/// Why a request has no other answer.
#[derive(Debug)]
pub(crate) enum AnswerError {
    /// The request is wrong, for this reason.
    Refused(StatusCode, String),
    /// The request is for a WebSocket and does not open one.
    UpgradeRequired,
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for AnswerError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl AnswerError {
    pub(crate) fn bad_request(reason: &str) -> Self {
        Self::Refused(StatusCode::BAD_REQUEST, reason.to_owned())
    }

    pub(crate) fn not_found(reason: &str) -> Self {
        Self::Refused(StatusCode::NOT_FOUND, reason.to_owned())
    }

    pub(crate) fn not_implemented(reason: &str) -> Self {
        Self::Refused(StatusCode::NOT_IMPLEMENTED, reason.to_owned())
    }

    pub(crate) fn into_response(self) -> Response {
        let (status, reason) = match self {
            Self::Refused(status, reason) => (status, reason),
            Self::UpgradeRequired => return upgrade_required(),
            Self::Store(error) => {
                tracing::error!(error = %ErrorChain(&error), "reading or writing messages failed");
                (StatusCode::INTERNAL_SERVER_ERROR, "the messages could not be read or written; see the log".to_owned())
            }
        };
        response::json(status, &json!({"Error": reason}))
    }
}

/// Answers a request that opens no WebSocket (RFC 9110 §15.5.22, RFC 6455 §4.4).
fn upgrade_required() -> Response {
    let reason = "this is a WebSocket of version 13: open it with a client of that protocol";
    let mut response = response::json(StatusCode::UPGRADE_REQUIRED, &json!({"Error": reason}));
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    response
}
