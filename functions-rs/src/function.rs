//! The interface of a function.
//! A function is independent of the web server: it turns an [`Invocation`] into an [`Answer`] or a [`FunctionError`];
//! the gateway does the rest.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use foundation::error::ErrorCode;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, StatusCode};
use http_edge::request::ClientAddress;
use platform::entropy::Entropy;
use platform::journal::Journal;
use serde::Serialize;

use crate::caller::Caller;

/// A function that the gateway can call.
pub trait Function: Send + Sync + 'static {
    /// Returns the name in the path: `send-submission`.
    /// ASCII letters, digits, `-` and `_`.
    fn name(&self) -> &'static str;

    /// Answers one call.
    /// The future may be dropped at any await, on a disconnect or timeout.
    fn call<'a>(&'a self, invocation: &'a Invocation) -> BoxFuture<'a, Result<Answer, FunctionError>>;
}

/// One authenticated call of a function.
#[derive(Debug)]
pub struct Invocation {
    /// The method; never `OPTIONS`, which the gateway answers.
    pub method: Method,
    /// The path after the function's name, undecoded: empty, or `/` and more.
    pub path: String,
    /// The query, undecoded.
    pub query: Option<String>,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body, within the gateway's limit.
    pub body: Bytes,
    /// The authenticated caller.
    pub caller: Caller,
    /// The client's address.
    pub client: ClientAddress,
    /// The time of the call.
    pub now: DateTime<Utc>,
    /// Source of random bytes for this call.
    pub entropy: Entropy,
    /// Records the steps of the call, for logs and tests.
    pub journal: Arc<Journal>,
}

impl Invocation {
    /// Returns the value of a header that may occur once.
    ///
    /// # Errors
    /// The header occurs twice, or is not visible ASCII.
    pub fn header(&self, name: &'static str) -> Result<Option<&str>, FunctionError> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next();
        match (value.map(http::HeaderValue::to_str), values.next()) {
            (None, _) => Ok(None),
            (Some(Ok(value)), None) => Ok(Some(value)),
            _ => Err(FunctionError::bad_request(
                "invalid_header",
                format!("The header {name} takes one value of visible ASCII characters"),
            )),
        }
    }
}

/// A successful response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status, 200–399.
    pub status: StatusCode,
    /// The media type of the body.
    pub content_type: &'static str,
    pub body: Bytes,
}

impl Answer {
    /// Creates a 200 response with a JSON body, which supabase-js returns as `data`.
    ///
    /// # Errors
    /// The value contains a map with keys that are not strings.
    pub fn json(value: &impl Serialize) -> Result<Self, FunctionError> {
        let body = serde_json::to_vec(value).map_err(|cause| FunctionError::internal("writing the answer", cause))?;
        Ok(Self { status: StatusCode::OK, content_type: "application/json", body: body.into() })
    }
}

/// An error response.
/// The client gets status, code and message; the cause is only logged.
#[derive(Debug)]
pub struct FunctionError {
    /// The status, 400–599.
    pub status: StatusCode,
    /// A stable code for programmatic use.
    pub code: &'static str,
    /// The message for the client: the problem and the remedy, without internal details.
    pub message: Cow<'static, str>,
    /// When a retry makes sense.
    pub retry_after: Option<Duration>,
    /// The allowed methods, for 405.
    pub allow: Option<&'static str>,
    /// The internal cause.
    pub cause: Option<Cause>,
}

/// The internal cause of a failure, for the log.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {error}")]
pub struct Cause {
    /// The attempted operation: `reading the submission`.
    pub doing: &'static str,
    #[source]
    pub error: Box<dyn std::error::Error + Send + Sync>,
}

impl FunctionError {
    /// Creates an error with this status, code and message.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), retry_after: None, allow: None, cause: None }
    }

    /// Creates a 400 error.
    pub fn bad_request(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// Creates a 405 error; `allow` lists the allowed methods: `POST, OPTIONS`.
    pub fn method_not_allowed(allow: &'static str) -> Self {
        let message = format!("This function does not take that method; it takes {allow}");
        let refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message);
        Self { allow: Some(allow), ..refusal }
    }

    /// Creates a 429 error; `retry_after` is rounded up to whole seconds.
    pub fn too_many_requests(code: &'static str, message: impl Into<Cow<'static, str>>, retry_after: Duration) -> Self {
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, code, message);
        Self { retry_after: Some(retry_after), ..refusal }
    }

    /// Creates the error of a failed statement: 503 while the database is unavailable, else 500.
    pub fn from_store_error(doing: &'static str, error: platform::store::Error) -> Self {
        if !error.is_unavailable() {
            return Self::internal(doing, error);
        }
        let failure = Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::DatabaseUnavailable.as_str(),
            "The database cannot be used at the moment. Try again in a moment",
        );
        let retry_after = Some(Duration::from_secs(1));
        Self { retry_after, cause: Some(Cause { doing, error: error.into() }), ..failure }
    }

    /// Creates a 500 error for an internal failure.
    pub fn internal(doing: &'static str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let failure = Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "WORKER_ERROR",
            "The function failed; the server's log says why. Try again in a moment",
        );
        Self { cause: Some(Cause { doing, error: error.into() }), ..failure }
    }
}
