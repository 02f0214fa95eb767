//! What a recording keeps of a response.

use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::symbols::Symbols;

/// The headers that are compared.
pub const RECORDED_HEADERS: [&str; 13] = [
    "content-type",
    "location",
    "x-total-count",
    "link",
    "x-supabase-api-version",
    "x-sb-error-code",
    "retry-after",
    "access-control-allow-origin",
    "access-control-allow-methods",
    "access-control-allow-headers",
    "access-control-expose-headers",
    "access-control-allow-credentials",
    "www-authenticate",
];
/// The most characters of a text that is no JSON.
const MAX_TEXT: usize = 2000;

/// A response with its whole body.
#[derive(Debug, Clone, Default)]
pub struct ReceivedResponse {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl ReceivedResponse {
    /// Returns the body as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns the last line of a header.
    pub fn header(&self, name: &str) -> Option<String> {
        let line = self.headers.get_all(name).iter().next_back()?;
        Some(String::from_utf8_lossy(line.as_bytes()).into_owned())
    }
}

/// Returns the response with its symbols: `status`, `headers`, and `json` or `text`.
pub(crate) fn observe(response: &ReceivedResponse, symbols: &mut Symbols, now: f64) -> Value {
    let mut headers = Map::new();
    for name in RECORDED_HEADERS {
        let Some(value) = response.header(name).filter(|value| !value.is_empty()) else { continue };
        if name == "location" {
            headers.insert(name.to_owned(), symbols.url(&value, now));
        }
    }
    // The names are shown in the order in which the server sent them.
    for name in response.headers.keys().map(http::HeaderName::as_str) {
        if name == "location" || !RECORDED_HEADERS.contains(&name) {
            continue;
        }
        let Some(mut value) = response.header(name).filter(|value| !value.is_empty()) else { continue };
        if name == "content-type" {
            value = value.split(';').next().unwrap_or_default().trim().to_owned();
        }
        headers.insert(name.to_owned(), symbols.text(&value).into());
    }
    let mut seen = json!({ "status": response.status, "headers": headers });
    match response.json() {
        // A body that is the literal null counts as text, as it carries no value.
        Some(Value::Null) | None if response.body.is_empty() => {}
        Some(body) if !body.is_null() => seen["json"] = symbols.value(&body, "", now),
        _ => {
            let is_html = seen["headers"]["content-type"].as_str().is_some_and(|value| value.contains("html"));
            let text = String::from_utf8_lossy(&response.body);
            let text = if is_html { "<html>".to_owned() } else { symbols.text(&text).chars().take(MAX_TEXT).collect() };
            seen["text"] = text.into();
        }
    }
    seen
}
