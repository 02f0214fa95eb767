//! What a function gets and gives. A function never sees the web server: it turns an [`Invocation`] into an [`Answer`] or
//! a [`FunctionError`], and the gateway does the rest.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use gotrue_rs::journal::Journal;
use gotrue_rs::ports::entropy::Entropy;
use http::{HeaderMap, Method, StatusCode};
use serde::Serialize;

use crate::caller::Caller;
use crate::peer::Peer;

/// A function that the gateway can call.
pub trait Function: Send + Sync + 'static {
    /// The name in the path: `send-submission`. ASCII letters, digits, `-` and `_`.
    fn name(&self) -> &'static str;

    /// Answers one call. May be dropped at any await, when the caller leaves or the time is up.
    fn call<'a>(&'a self, invocation: &'a Invocation) -> BoxFuture<'a, Result<Answer, FunctionError>>;
}

/// One call of a function, as the gateway let it through.
#[derive(Debug)]
pub struct Invocation {
    /// The method; never `OPTIONS`, which the gateway answers.
    pub method: Method,
    /// What follows the function's name in the path: empty, or `/` and more, as it was sent.
    pub path: String,
    /// The query, as it was sent.
    pub query: Option<String>,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body, within the gateway's limit.
    pub body: Bytes,
    /// Who calls.
    pub caller: Caller,
    /// From where.
    pub peer: Peer,
    /// When the call came in.
    pub now: DateTime<Utc>,
    /// Random bytes of this call.
    pub entropy: Entropy,
    /// What the call does, for logs and tests.
    pub journal: Arc<Journal>,
}

impl Invocation {
    /// The value of a header that may be there once.
    ///
    /// # Errors
    /// The header is there twice, or is not visible ASCII.
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

/// A successful answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status, 200–399.
    pub status: StatusCode,
    /// The media type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// 200 with a JSON body, which supabase-js hands over as `data`.
    ///
    /// # Errors
    /// The value has a map with keys that are not text.
    pub fn json(value: &impl Serialize) -> Result<Self, FunctionError> {
        let body = serde_json::to_vec(value).map_err(|cause| FunctionError::failed("writing the answer", cause))?;
        Ok(Self { status: StatusCode::OK, content_type: "application/json", body: body.into() })
    }
}

/// A refusal or failure. The client gets status, code and message; the cause is for the log alone.
#[derive(Debug)]
pub struct FunctionError {
    /// The status, 400–599.
    pub status: StatusCode,
    /// The stable code that a client may branch on.
    pub code: &'static str,
    /// What is wrong and what to do, without anything the client did not know.
    pub message: Cow<'static, str>,
    /// When trying again makes sense.
    pub retry_after: Option<Duration>,
    /// The methods that the function takes, for 405.
    pub allow: Option<&'static str>,
    /// What was being done and what went wrong.
    pub cause: Option<Cause>,
}

/// Why a function failed, for the log.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {error}")]
pub struct Cause {
    /// What was being done: `reading the submission`.
    pub doing: &'static str,
    /// What went wrong.
    #[source]
    pub error: Box<dyn std::error::Error + Send + Sync>,
}

impl FunctionError {
    /// A refusal with this status, code and message.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), retry_after: None, allow: None, cause: None }
    }

    /// 400.
    pub fn bad_request(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// 405; `allow` lists what is taken instead: `POST, OPTIONS`.
    pub fn method_not_allowed(allow: &'static str) -> Self {
        let message = format!("This function does not take that method; it takes {allow}");
        let refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message);
        Self { allow: Some(allow), ..refusal }
    }

    /// 429, to be tried again after this time, rounded up to whole seconds.
    pub fn too_many(code: &'static str, message: impl Into<Cow<'static, str>>, retry_after: Duration) -> Self {
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, code, message);
        Self { retry_after: Some(retry_after), ..refusal }
    }

    /// The failure of a statement: 503 while the database cannot be used, else 500.
    pub fn database(doing: &'static str, error: gotrue_rs::store::Error) -> Self {
        if !error.is_unavailable() {
            return Self::failed(doing, error);
        }
        let failure = Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "database_unavailable",
            "The database cannot be used at the moment. Try again in a moment",
        );
        let retry_after = Some(Duration::from_secs(1));
        Self { retry_after, cause: Some(Cause { doing, error: error.into() }), ..failure }
    }

    /// 500: something outside the caller's reach went wrong while doing this.
    pub fn failed(doing: &'static str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let failure = Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "WORKER_ERROR",
            "The function failed; the server's log says why. Try again in a moment",
        );
        Self { cause: Some(Cause { doing, error: error.into() }), ..failure }
    }
}
