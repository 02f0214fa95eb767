//! What the server answered, as a test looks at it.

use http::{HeaderMap, StatusCode};
use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it came.
    pub text: String,
    /// The body as JSON; null where it is none.
    pub json: Value,
}

impl Answer {
    pub(super) fn new(status: StatusCode, headers: HeaderMap, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body).into_owned();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Self { status, headers, text, json }
    }

    /// The same answer, after making sure of its status.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "many tests want nothing of an answer but its status")]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    /// A member's text; empty where it is none.
    pub fn str(&self, pointer: &str) -> &str {
        let path = if pointer.starts_with('/') { pointer.to_owned() } else { format!("/{pointer}") };
        self.json.pointer(&path).and_then(Value::as_str).unwrap_or_default()
    }

    /// A header's text; empty where it is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Status and error code, the gist of a refusal.
    pub fn refusal(&self) -> (u16, &str) {
        (self.status.as_u16(), self.str("error_code"))
    }
}
