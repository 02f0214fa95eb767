//! A response of the server.

use http::{HeaderMap, StatusCode};
use serde_json::Value;

/// A response of the server.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body as text.
    pub text: String,
    /// The body as JSON; null if it is not JSON.
    pub json: Value,
}

impl Answer {
    /// Creates a response; the body is read as JSON if it is JSON.
    pub fn new(status: StatusCode, headers: HeaderMap, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body).into_owned();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Self { status, headers, text, json }
    }

    /// Asserts the status and returns the response.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "many tests want nothing of an answer but its status")]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    /// The text of a JSON member; empty if it is not a string.
    pub fn str(&self, pointer: &str) -> &str {
        let path = if pointer.starts_with('/') { pointer.to_owned() } else { format!("/{pointer}") };
        self.json.pointer(&path).and_then(Value::as_str).unwrap_or_default()
    }

    /// The text of a header; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The status and the error code.
    pub fn refusal(&self) -> (u16, &str) {
        (self.status.as_u16(), self.str("error_code"))
    }
}
