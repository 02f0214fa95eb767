//! What a recording keeps of a response.

use std::borrow::Cow;

use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::format::Service;
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
/// The headers of the data API and of the storage API that are compared beside them.
pub(crate) const CONTENT_HEADERS: [&str; 9] = [
    "content-range",
    "preference-applied",
    "etag",
    "accept-ranges",
    "cache-control",
    "tus-resumable",
    "upload-offset",
    "upload-length",
    "content-profile",
];
/// The most characters of a text that is no JSON.
const MAX_TEXT: usize = 2000;

/// A response with its whole body.
#[derive(Debug, Clone, Default)]
pub struct ReceivedResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl ReceivedResponse {
    /// Returns the body as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns the last line of a header.
    pub fn header(&self, name: &str) -> Option<String> {
        last_line(&self.headers, name).map(Cow::into_owned)
    }
}

/// Returns the response with its symbols: `status`, `headers`, and `json` or `text`.
pub(crate) fn observe(response: &ReceivedResponse, service: Service, symbols: &mut Symbols, now: f64) -> Value {
    let json = response.json().unwrap_or_default();
    let ReceivedResponse { status, headers, body } = response;
    observe_parts(&ResponseParts { status: *status, headers, body, json: &json, service }, symbols, now)
}

/// A response whose body is parsed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseParts<'a> {
    pub status: u16,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
    /// The body as JSON, null if it is none.
    pub json: &'a Value,
    /// The API that it comes from.
    pub service: Service,
}

/// Returns a parsed response with its symbols.
pub(crate) fn observe_parts(response: &ResponseParts<'_>, symbols: &mut Symbols, now: f64) -> Value {
    let mut headers = Map::new();
    if let Some(location) = last_line(response.headers, "location").filter(|value| !value.is_empty()) {
        headers.insert("location".to_owned(), symbols.url(&location, now));
    }
    // The names are shown in the order in which the server sent them.
    for name in response.headers.keys().map(http::HeaderName::as_str) {
        if name == "location" || !is_recorded(name, response.service) {
            continue;
        }
        let Some(value) = last_line(response.headers, name).filter(|value| !value.is_empty()) else { continue };
        let value = match name {
            "content-type" => value.split(';').next().unwrap_or_default().trim(),
            _ => &value,
        };
        headers.insert(name.to_owned(), symbols.text(value).into());
    }
    let mut seen = json!({ "status": response.status, "headers": headers });
    if !response.json.is_null() {
        seen["json"] = symbols.value(response.json, "", now);
    } else if !response.body.is_empty() {
        // A body that is the literal null counts as text, as it carries no value.
        let is_html = seen["headers"]["content-type"].as_str().is_some_and(|value| value.contains("html"));
        let text = String::from_utf8_lossy(response.body);
        let text = if is_html { "<html>".to_owned() } else { symbols.text(&text).chars().take(MAX_TEXT).collect() };
        seen["text"] = text.into();
    }
    seen
}

fn is_recorded(name: &str, service: Service) -> bool {
    RECORDED_HEADERS.contains(&name) || service.has_user_content() && CONTENT_HEADERS.contains(&name)
}

fn last_line<'a>(headers: &'a HeaderMap, name: &str) -> Option<Cow<'a, str>> {
    Some(String::from_utf8_lossy(headers.get_all(name).iter().next_back()?.as_bytes()))
}
