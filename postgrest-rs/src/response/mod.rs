//! Responses: status, header fields and body of each action.

pub mod cors;
pub mod openapi;
mod overrides;
mod reply;

use bytes::Bytes;

pub use self::reply::{Body, Reply, ResultSet};
use crate::error::Error;
use crate::error::request::RangeError;
use crate::request::media_type::MediaType;
use crate::request::preferences::{PreferResolution, PreferReturn, Preferences};
use crate::request::range::RowRange;
use crate::request::{Action, ApiRequest, InvokeMethod, Mutation, QualifiedName};

impl Error {
    /// The error as a response.
    pub fn into_reply(self) -> Reply {
        let body = Bytes::from(self.body());
        let mut reply = Reply::new(self.status)
            .header("Content-Type", MediaType::Json.content_type())
            .header("Proxy-Status", format!("PostgREST; error={}", self.code));
        let parts = self.into_parts();
        reply.headers.extend(parts.headers);
        reply.reason = parts.reason;
        reply.body = Body::Whole(body);
        reply
    }
}

/// `first-last/total`, with `*` for what is empty or unknown.
pub fn content_range(first: i64, last: i64, total: Option<i64>) -> String {
    let total_text = total.map_or_else(|| "*".to_owned(), |total| total.to_string());
    if total != Some(0) && first <= last { format!("{first}-{last}/{total_text}") } else { format!("*/{total_text}") }
}

/// Status and `Content-Range` of a read.
fn range_status(range: RowRange, rows: i64, total: Option<i64>) -> (u16, String) {
    let first = range.offset();
    let last = first + rows - 1;
    let status = match total {
        Some(total) if first > total => 416,
        Some(total) if rows < total => 206,
        _ => 200,
    };
    (status, content_range(first, last, total))
}

/// The body of a read: the rows, or the error of a range behind the last of them.
fn range_body(status: u16, range: RowRange, result: &ResultSet) -> Body {
    if status == 416 {
        let error = RangeError::OutOfBounds { offset: range.offset(), total: result.total.unwrap_or(0) };
        return Body::Whole(Bytes::from(Error::invalid_range(error).body()));
    }
    result.body.clone()
}

/// The preferences that took effect, for `Preference-Applied`. `has_conflict_target` tells whether an insert has a primary key or
/// `on_conflict`.
fn applied(request: &ApiRequest, has_conflict_target: bool) -> Option<String> {
    let preferences = &request.preferences;
    let mutation = request.action.mutation();
    let is_call = matches!(request.action, Action::Invoke { .. });
    let is_insert = mutation == Some(Mutation::Insert);
    let is_update = mutation == Some(Mutation::Update);
    let limits_rows = is_update || mutation == Some(Mutation::Delete) || is_call;
    Preferences {
        resolution: preferences.resolution.filter(|_| is_insert && has_conflict_target),
        representation: preferences.representation.filter(|_| mutation.is_some()),
        count: preferences.count,
        transaction: preferences.transaction,
        missing: preferences.missing.filter(|_| is_insert || is_update),
        handling: preferences.handling,
        timezone: preferences.timezone.clone(),
        max_affected: preferences.max_affected.filter(|_| limits_rows),
        invalid: Vec::new(),
    }
    .applied()
}

/// The response to a read of a relation.
///
/// # Errors
/// `PGRST111` and `PGRST112`: what the database set is malformed.
pub fn read(
    request: &ApiRequest,
    relation: &QualifiedName,
    headers_only: bool,
    media_type: &MediaType,
    result: &ResultSet,
) -> Result<Reply, Error> {
    let (status, range) = range_status(request.top_level_range, result.rows, result.total);
    let canonical = &request.query.canonical;
    let query = if canonical.is_empty() { String::new() } else { format!("?{canonical}") };
    let body = range_body(status, request.top_level_range, result);
    let body = if headers_only && status != 416 { Body::default() } else { body };
    let reply = Reply::new(status)
        .header("Content-Range", range)
        .header("Content-Location", format!("/{}{query}", relation.name))
        .content(request, media_type, body)
        .optional_header("Preference-Applied", applied(request, false));
    overrides::apply(reply, result)
}

/// The response to a write. `has_conflict_target` tells whether an insert has a primary key or `on_conflict`.
///
/// # Errors
/// `PGRST111` and `PGRST112`: what the database set is malformed.
pub fn mutation(
    request: &ApiRequest,
    relation: &QualifiedName,
    media_type: &MediaType,
    has_conflict_target: bool,
    result: &ResultSet,
) -> Result<Reply, Error> {
    let counted = request.preferences.count.filter(|count| count.counts()).map(|_| result.rows);
    let has_body = request.preferences.representation == Some(PreferReturn::Representation);
    let inserted = result.inserted;
    let (success, range, location) = match request.action.mutation() {
        Some(Mutation::Insert) => {
            let merges = request.preferences.resolution == Some(PreferResolution::MergeDuplicates);
            let status = match inserted {
                None => 200,
                Some(rows) if rows <= 0 && merges => 200,
                Some(_) => 201,
            };
            (status, Some(content_range(1, 0, counted)), location(relation, &result.location))
        }
        Some(Mutation::Update) => (200, Some(content_range(0, result.rows - 1, counted)), None),
        Some(Mutation::SingleUpsert) => (if inserted.is_some_and(|rows| rows > 0) { 201 } else { 200 }, None, None),
        Some(Mutation::Delete) | None => (200, Some(content_range(1, 0, counted)), None),
    };
    let is_insert = request.action.mutation() == Some(Mutation::Insert);
    let mut reply = Reply::new(if has_body || is_insert { success } else { 204 })
        .optional_header("Location", location)
        .optional_header("Content-Range", range);
    if has_body {
        reply = reply.content(request, media_type, result.body.clone());
    }
    reply = reply.optional_header("Preference-Applied", applied(request, has_conflict_target));
    overrides::apply(reply, result)
}

/// `/relation?key=eq.value`
fn location(relation: &QualifiedName, key: &[(String, String)]) -> Option<String> {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    if key.is_empty() {
        return None;
    }
    let encode = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
    let pairs: Vec<_> = key.iter().map(|(column, value)| format!("{}={}", encode(column), encode(value))).collect();
    Some(format!("/{}?{}", relation.name, pairs.join("&")))
}

/// The response to the call of a function.
///
/// # Errors
/// `PGRST111` and `PGRST112`: what the database set is malformed.
pub fn call(
    request: &ApiRequest,
    method: InvokeMethod,
    returns_void: bool,
    media_type: &MediaType,
    result: &ResultSet,
) -> Result<Reply, Error> {
    let (status, range) = range_status(request.top_level_range, result.rows, result.total);
    let applied = applied(request, false);
    let reply =
        |status| Reply::new(status).header("Content-Range", range).optional_header("Preference-Applied", applied);
    let reply = if returns_void {
        reply(204)
    } else {
        let body = range_body(status, request.top_level_range, result);
        let body = if method == InvokeMethod::Head { Body::default() } else { body };
        reply(status).content(request, media_type, body)
    };
    overrides::apply(reply, result)
}

/// The response with the plan of a statement.
pub fn plan(request: &ApiRequest, media_type: &MediaType, body: Bytes) -> Reply {
    Reply::new(200).content(request, media_type, body)
}

/// The response with the description of a schema.
pub fn description(request: &ApiRequest, headers_only: bool, body: Bytes) -> Reply {
    Reply::new(200).content(request, &MediaType::OpenApi, if headers_only { Bytes::new() } else { body })
}

/// What a relation allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Whether rows can be inserted.
    pub inserts: bool,
    /// Whether rows can be updated.
    pub updates: bool,
    /// Whether rows can be deleted.
    pub deletes: bool,
    /// Whether it has a primary key.
    pub has_key: bool,
}

/// The response to OPTIONS of a relation.
pub fn inspect_relation(abilities: Abilities) -> Reply {
    let methods = [
        ("OPTIONS,GET,HEAD", true),
        ("POST", abilities.inserts),
        ("PUT", abilities.inserts && abilities.updates && abilities.has_key),
        ("PATCH", abilities.updates),
        ("DELETE", abilities.deletes),
    ];
    let allowed: Vec<_> = methods.into_iter().filter(|(_, is_allowed)| *is_allowed).map(|(name, _)| name).collect();
    inspect(&allowed.join(","))
}

/// The response to OPTIONS of a function.
pub fn inspect_function(is_volatile: bool) -> Reply {
    inspect(if is_volatile { "OPTIONS,POST" } else { "OPTIONS,GET,HEAD,POST" })
}

/// The response to OPTIONS of the root.
pub fn inspect_schema() -> Reply {
    inspect("OPTIONS,GET,HEAD")
}

fn inspect(methods: &str) -> Reply {
    Reply::new(200).header("Access-Control-Allow-Origin", "*").header("Allow", methods)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_status_compares_rows_and_total() {
        let range = |first, last| RowRange { first, last };
        let cases = [
            (range(0, None), 3, None, (200, "0-2/*")),
            (range(0, Some(1)), 2, Some(7), (206, "0-1/7")),
            (range(0, None), 7, Some(7), (200, "0-6/7")),
            (range(7, None), 0, Some(7), (206, "*/7")),
            (range(8, None), 0, Some(7), (416, "*/7")),
            (range(0, None), 0, Some(0), (200, "*/0")),
            (RowRange::NONE, 0, None, (200, "*/*")),
        ];
        for (range, rows, total, (status, header)) in cases {
            assert_eq!(range_status(range, rows, total), (status, header.to_owned()), "{range:?} {total:?}");
        }
    }

    #[test]
    fn location_encodes_keys_and_values() {
        let relation = QualifiedName { schema: "s".to_owned(), name: "naïve table".to_owned() };
        let key = [("a b".to_owned(), "eq.x&y".to_owned()), ("c".to_owned(), "eq.1".to_owned())];
        assert_eq!(location(&relation, &key).as_deref(), Some("/naïve table?a%20b=eq.x%26y&c=eq.1"));
        assert_eq!(location(&relation, &[]), None);
    }

    #[test]
    fn status_that_http_cannot_carry_is_500() {
        for (status, sent) in [(999, 999), (402, 402), (99, 500), (1000, 500), (100, 500)] {
            assert_eq!(Reply::new(status).into_response().status().as_u16(), sent);
        }
    }

    #[test]
    fn header_that_http_cannot_carry_is_left_out() {
        let response =
            Reply::new(200).header("X-A", "b\r\nc").header("Bad Name", "x").header("X-B", "ï").into_response();
        assert_eq!(response.headers().len(), 1);
        assert_eq!(response.headers()["x-b"].as_bytes(), "ï".as_bytes());
    }
}
