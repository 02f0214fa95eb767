//! Forms with files (RFC 7578), as browsers upload objects.

use serde_json::{Value, json};

use super::objects::{content, large_content};
use super::plain::{is_header_text, is_name};
use super::session::FlowSession;
use super::texts::text;
use super::values;

/// The type of a replaced form.
pub(super) const CONTENT_TYPE: &str = "multipart/form-data; boundary=basalt-flow";
const BOUNDARY: &str = "--basalt-flow";
/// The most parts of a form.
const MAX_PARTS: usize = 32;
/// The type of a file whose own is unknown.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Replaces the values of a form; `None` if the body is none.
pub(super) fn replace(session: &mut FlowSession, bytes: &[u8], content_type: &str) -> Option<Value> {
    let boundary = content_type.strip_prefix("multipart/form-data")?.split("boundary=").nth(1)?;
    let boundary = format!("--{}", boundary.split(';').next()?.trim().trim_matches('"'));
    let starts: Vec<usize> = find_all(bytes, boundary.as_bytes()).take(MAX_PARTS + 2).collect();
    if !(2..=MAX_PARTS + 1).contains(&starts.len()) {
        return None;
    }
    let mut pieces: Vec<Value> = Vec::new();
    for pair in starts.windows(2) {
        let part = bytes.get(pair[0] + boundary.len()..pair[1])?;
        let end = find_all(part, b"\r\n\r\n").next()?;
        let head = String::from_utf8_lossy(&part[..end]);
        let value = &part[end + 4..];
        push_part(session, &mut pieces, &head, value.strip_suffix(b"\r\n").unwrap_or(value));
    }
    Some(finish(pieces))
}

/// Returns a form with one file in place of one that was too large to be kept; `None` if the body is none.
pub(super) fn replace_large(session: &mut FlowSession, size: u64, content_type: &str) -> Option<Value> {
    content_type.strip_prefix("multipart/form-data")?;
    let head = format!("{}\r\n\r\n", file_head("", UNKNOWN_TYPE));
    Some(finish(vec![head.into(), large_content(session, size), "\r\n".into()]))
}

fn finish(mut pieces: Vec<Value>) -> Value {
    pieces.push(format!("{BOUNDARY}--\r\n").into());
    json!({ "@concat": pieces })
}

fn push_part(session: &mut FlowSession, pieces: &mut Vec<Value>, head: &str, value: &[u8]) {
    let name = parameter(head, "name").unwrap_or_default();
    let shown = if name.is_empty() || is_name(&name) { name.clone() } else { text(session, &name, "name") };
    let is_file = parameter(head, "filename").is_some() || name.is_empty();
    let (head, value) = if is_file {
        let kind = header(head, "content-type").filter(|kind| is_header_text("content-type", kind));
        (file_head(&shown, kind.as_deref().unwrap_or(UNKNOWN_TYPE)), content(session, value))
    } else {
        (part_head(&shown), field(session, &name, value))
    };
    pieces.extend([format!("{head}\r\n\r\n").into(), value, "\r\n".into()]);
}

fn part_head(name: &str) -> String {
    format!("{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"")
}

fn file_head(name: &str, content_type: &str) -> String {
    format!("{}; filename=\"blob\"\r\nContent-Type: {content_type}", part_head(name))
}

fn field(session: &mut FlowSession, name: &str, value: &[u8]) -> Value {
    let recorded = String::from_utf8_lossy(value);
    if name == "cacheControl" && is_header_text("cache-control", &recorded) {
        return recorded.into_owned().into();
    }
    values::json_text(session, &recorded, name)
}

/// Returns a header of a part.
fn header(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(known, _)| known.trim().eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_owned())
}

/// Returns a parameter of a part's `Content-Disposition`.
fn parameter(head: &str, name: &str) -> Option<String> {
    let disposition = header(head, "content-disposition")?;
    let start = format!("{name}=");
    let value = disposition.split(';').find_map(|each| each.trim().strip_prefix(start.as_str()))?;
    Some(value.trim_matches('"').to_owned())
}

fn find_all<'a>(bytes: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = usize> + use<'a> {
    bytes.windows(wanted.len()).enumerate().filter(move |(_, window)| *window == wanted).map(|(at, _)| at)
}
