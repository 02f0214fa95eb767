//! The headers and the body of a response that a rule gives.

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResponseContent {
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl ResponseContent {
    /// Builds the content: a text, or JSON, and `Retry-After` in seconds.
    pub(super) fn build(body: Option<Value>, retry_after: Option<u64>) -> Self {
        let (kind, body) = match body {
            None => (None, Vec::new()),
            Some(Value::String(text)) => (Some("text/plain; charset=utf-8"), text.into_bytes()),
            Some(json) => (Some("application/json"), json.to_string().into_bytes()),
        };
        let mut headers = HeaderMap::new();
        if let Some(kind) = kind {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if let Some(seconds) = retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        Self { headers, body }
    }
}
