//! The header fields of responses with an object.

use chrono::DateTime;
use http::header::{ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, EXPIRES, LAST_MODIFIED};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::object_row::Found;
use crate::request::Call;
use crate::response::{header_value, http_date};
use crate::{disposition, mime};

const ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// Inserts a header field, unless the value has characters that none may have.
pub(super) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Some(value) = header_value(value) {
        headers.insert(name, value);
    }
}

/// The header fields of a response with content.
pub(super) fn describe(call: &Call, found: &Found, expires: Option<i64>, headers: &mut HeaderMap) {
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let mime_type = found.mime_type().unwrap_or("application/octet-stream");
    insert(headers, CONTENT_TYPE, mime::served_type(mime_type));
    if let Some(etag) = found.etag() {
        insert(headers, ETAG, etag);
    }
    insert(headers, ROBOTS_TAG, found.robots_tag());
    if let Some(time) = found.last_modified() {
        insert(headers, LAST_MODIFIED, &http_date(time));
    }
    match expires.and_then(|time| DateTime::from_timestamp(time, 0)) {
        Some(time) => insert(headers, EXPIRES, &http_date(time)),
        None => insert_cache_control(call, found, "stale-while-revalidate=30", headers),
    }
    if let Some(file_name) = call.query.get("download") {
        insert(headers, CONTENT_DISPOSITION, &disposition::attachment(file_name));
    }
}

/// `Cache-Control` as it was stored, with `addition` where the client has other content.
pub(super) fn insert_cache_control(call: &Call, found: &Found, addition: &str, headers: &mut HeaderMap) {
    let has_other = call.filled_header("if-none-match").is_some_and(|tag| found.etag() != Some(tag));
    let stored = found.cache_control().filter(|value| !value.is_empty());
    let parts: Vec<&str> = stored.into_iter().chain(has_other.then_some(addition)).collect();
    if !parts.is_empty() {
        insert(headers, CACHE_CONTROL, &parts.join(", "));
    }
}
