//! Requests of the storage API: buckets stay, names and contents of objects are generated.

use std::ops::RangeInclusive;

use http_edge::request::APIKEY;
use serde_json::{Value, json};

use super::exchange::Exchange;
use super::plain::{is_name, is_word};
use super::session::FlowSession;
use super::texts::{encode_outside_placeholders, text};
use crate::symbols::is_uuid;
use crate::text::{parse_pairs, split_url};

/// Routes in front of the name of a bucket or of an upload, those with the same start from long to short.
const ROUTES: [&str; 20] = [
    "/object/upload/sign",
    "/object/info/authenticated",
    "/object/info/public",
    "/object/info",
    "/object/authenticated",
    "/object/public",
    "/object/sign",
    "/object/list-v2",
    "/object/list",
    "/object/move",
    "/object/copy",
    "/object",
    "/bucket",
    "/render/image/authenticated",
    "/render/image/public",
    "/render/image/sign",
    "/upload/resumable/sign",
    "/upload/resumable",
    "/status",
    "/version",
];
/// The start of the routes of resumable uploads.
const UPLOAD_ROUTE: &str = "/upload/";
/// Extensions of names that are kept, as rules of buckets can depend on them.
const EXTENSIONS: [&str; 24] = [
    "txt", "png", "jpg", "jpeg", "gif", "webp", "svg", "avif", "pdf", "csv", "json", "md", "html", "xml", "zip", "mp3",
    "mp4", "webm", "wav", "docx", "xlsx", "pptx", "bin", "gz",
];
/// Members with small numbers of the API.
const NUMBER_MEMBERS: [&str; 5] = ["limit", "offset", "width", "height", "quality"];
/// Members with seconds or bytes.
const LIMIT_MEMBERS: [&str; 4] = ["expiresIn", "expires_in", "file_size_limit", "fileSizeLimit"];
/// Members with words of the API.
const WORD_MEMBERS: [&str; 8] =
    ["column", "order", "sortColumn", "sortOrder", "allowed_mime_types", "allowedMimeTypes", "resize", "format"];
/// The most digits of a small number.
const MAX_DIGITS: usize = 5;
/// The longest number of seconds or bytes with its unit.
const MAX_LIMIT: usize = 12;
/// The lengths of the name of a generated object without its extension.
const NAME_LENGTHS: RangeInclusive<usize> = 6..=64;
/// The lengths of a content that a download shows by its name.
const SHOWN_LENGTHS: RangeInclusive<usize> = 16..=2000;
/// The largest content of random characters.
const MAX_RANDOM: usize = 1 << 20;
/// The largest generated content.
const MAX_CONTENT: u64 = 8 << 20;

/// Returns the path with placeholders.
pub(super) fn path(session: &mut FlowSession, exchange: &Exchange) -> String {
    let parts = split_url(&exchange.path);
    let (route, rest) = split_route(parts.base);
    if let (true, Some(upload)) = (is_upload(route), rest.rsplit('/').next().and_then(|id| session.uploads.find(id))) {
        return format!("{{{{{upload}}}}}");
    }
    let mut path = route.to_owned();
    for (at, segment) in rest.split('/').skip(1).enumerate() {
        let segment = percent_encoding::percent_decode_str(segment).decode_utf8_lossy();
        path.push('/');
        path.push_str(&match at {
            0 if !is_upload(route) => bucket(session, &segment),
            1 if route == "/bucket" && segment == "empty" => segment.into_owned(),
            _ => name_segment(session, &segment),
        });
    }
    let mut separator = '?';
    for (name, value) in parse_pairs(parts.query).into_iter().filter(|(name, _)| name != APIKEY.as_str()) {
        let filled = match name.as_str() {
            "token" => token(session, &value),
            "download" => name_segment(session, &value),
            _ if is_api_value(&name, &value) => value,
            _ => text(session, &value, &name),
        };
        let name = if is_name(&name) { name } else { text(session, &name, "name") };
        path.push(separator);
        separator = '&';
        path.push_str(&name);
        path.push('=');
        path.push_str(&encode_outside_placeholders(&filled));
    }
    path
}

/// Splits a path into a route and what follows it, which is the whole path of an unknown route.
pub(super) fn split_route(path: &str) -> (&str, &str) {
    let found = ROUTES.into_iter().find_map(|route| {
        let rest = path.strip_prefix(route).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        Some((route, rest))
    });
    found.unwrap_or(("", path))
}

/// Returns whether a route is one of resumable uploads.
pub(super) fn is_upload(route: &str) -> bool {
    route.starts_with(UPLOAD_ROUTE)
}

/// Returns whether a member or parameter has a word or a number of the API, such as `asc`, `image/*` or `50MB`.
pub(super) fn is_api_value(name: &str, value: &str) -> bool {
    let unit = value.trim_start_matches(|each: char| each.is_ascii_digit());
    if WORD_MEMBERS.contains(&name) {
        return is_word(&value.replace('*', "any"));
    }
    NUMBER_MEMBERS.contains(&name) && unit.is_empty() && value.len() <= MAX_DIGITS
        || LIMIT_MEMBERS.contains(&name) && matches!(unit, "" | "KB" | "MB" | "GB") && value.len() <= MAX_LIMIT
}

/// Returns the placeholder of the token of a signed URL.
fn token(session: &mut FlowSession, token: &str) -> String {
    if session.known.find(token).is_none()
        && let Some(url) = session.signed_urls.find(token).map(str::to_owned)
    {
        let name = session.name("signed");
        session.set(&name, json!({ "@url": format!("{{{{{url}}}}}") }));
        session.known.insert(token, format!("{name}.query.token"));
    }
    text(session, token, "token")
}

/// Returns the name of a bucket, which belongs to the project like that of a table.
pub(super) fn bucket(session: &mut FlowSession, name: &str) -> String {
    if name.is_empty() || is_name(name) { name.to_owned() } else { text(session, name, "bucket") }
}

/// Replaces the segments of an object's name.
pub(super) fn object_name(session: &mut FlowSession, recorded: &str) -> String {
    let segments: Vec<String> = recorded.split('/').map(|each| name_segment(session, each)).collect();
    segments.join("/")
}

fn name_segment(session: &mut FlowSession, recorded: &str) -> String {
    if recorded.is_empty() {
        return String::new();
    }
    if let Some(known) = session.known.find(recorded) {
        return format!("{{{{{known}}}}}");
    }
    if is_uuid(recorded) {
        return text(session, recorded, "path");
    }
    let (stem, extension) = recorded.rsplit_once('.').unwrap_or((recorded, ""));
    let length = stem.chars().count().clamp(*NAME_LENGTHS.start(), *NAME_LENGTHS.end());
    let call = if EXTENSIONS.contains(&extension) {
        json!({ "concat": [{ "@words": length }, format!(".{extension}")] })
    } else {
        json!({ "words": length })
    };
    let name = session.generate(recorded, "file", call);
    format!("{{{{{name}}}}}")
}

/// Returns a generated content of the same length; a download shows a text by its name.
pub(super) fn content(session: &mut FlowSession, bytes: &[u8]) -> Value {
    let Some(length) = bytes.len().checked_sub(1) else { return "".into() };
    if bytes.len() > MAX_RANDOM {
        return large_content(session, bytes.len().try_into().unwrap_or(u64::MAX));
    }
    // Random characters alone can be a number, which would be JSON.
    let parts = json!(["x", { "@words": length }]);
    let shown = std::str::from_utf8(bytes).ok().filter(|_| SHOWN_LENGTHS.contains(&bytes.len()));
    let Some(shown) = shown else { return json!({ "@concat": parts }) };
    let name = match session.known.find(shown) {
        Some(known) => known.to_owned(),
        None => session.generate(shown, "content", json!({ "concat": parts })),
    };
    format!("{{{{{name}}}}}").into()
}

/// Returns a content of this size, generated up to a bound, else to be given.
pub(super) fn large_content(session: &mut FlowSession, size: u64) -> Value {
    if size <= MAX_CONTENT {
        return json!({ "@repeat": { "of": "x", "times": size } });
    }
    let name = session.name("content");
    let what = format!("a content of {size} bytes, which is too large for a recording");
    session.set(&name, json!({ "@provided": what }));
    format!("{{{{{name}}}}}").into()
}
