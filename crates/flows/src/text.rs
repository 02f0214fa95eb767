//! Percent-encoding and pairs of queries and forms.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value, json};

/// Everything but the unreserved characters of RFC 3986 §2.3.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Encodes a segment of a path or a value of a query.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// Decodes a value of a query or form, where `+` is a space.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// Splits a query or form into decoded pairs; a part without `=` has an empty value.
pub(crate) fn parse_pairs(text: &str) -> Vec<(String, String)> {
    let parts = text.split('&').filter(|part| !part.is_empty());
    let pairs = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

/// Formats pairs as a query or form.
pub(crate) fn format_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let encoded = pairs.into_iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    encoded.collect::<Vec<_>>().join("&")
}

/// The parts of a URL or of a path with query and fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UrlParts<'a> {
    /// Everything before the query.
    pub base: &'a str,
    /// The query without `?`.
    pub query: &'a str,
    /// The fragment without `#`.
    pub fragment: &'a str,
}

pub(crate) fn split_url(text: &str) -> UrlParts<'_> {
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
    UrlParts { base, query, fragment }
}

/// Returns scheme and authority of an absolute URL, and the path behind them.
pub(crate) fn split_origin(url: &str) -> Option<(&str, &str)> {
    let start = url.find("://")? + 3;
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    (end > start).then(|| url.split_at(end))
}

/// Returns the parts of a URL.
pub(crate) fn parse_url(text: &str) -> Value {
    let parts = split_url(text);
    let (origin, path) = split_origin(parts.base).unwrap_or(("", parts.base));
    let (scheme, host) = origin.split_once("://").unwrap_or_default();
    let pairs = |raw: &str| -> Map<String, Value> {
        parse_pairs(raw).into_iter().map(|(name, value)| (name, value.into())).collect()
    };
    json!({
        "url": text, "base": parts.base, "scheme": scheme, "host": host, "path": path,
        "query": pairs(parts.query), "fragment": pairs(parts.fragment),
    })
}
