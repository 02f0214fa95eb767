//! The second version of the list: a bucket or one level of it, by pages of cursors.

use axum::body::Body;
use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use http::Response;
use serde_json::{Value, json};

use crate::database::rows::documents;
use crate::database::{nullable, sql, text};
use crate::error::Error;
use crate::request::fields::Fields;
use crate::request::{Call, json_body};
use crate::response;

/// The most entries of a page.
const MAXIMUM_LIMIT: i64 = 1000;

/// Ends the name of an object in a cursor: a folder of the same name may exist.
pub(crate) const OBJECT_MARK: char = '\u{1}';

/// Base64 with padding or without.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Where a page ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The name of the last entry; that of an object ends in [`OBJECT_MARK`] where there are folders too.
    pub(crate) name: String,
    /// `asc` or `desc`
    pub(crate) order: Option<String>,
    /// `name`, `created_at` or `updated_at`
    pub(crate) column: Option<String>,
    /// The time of the last entry in that column.
    pub(crate) time: Option<String>,
}

impl Cursor {
    /// The cursor as clients get it: the form of the reference, so that a page of one server can follow one of the other.
    pub(crate) fn encode(&self) -> String {
        let mut lines = vec![format!("l:{}", self.name)];
        lines.extend(self.order.as_ref().map(|order| format!("o:{order}")));
        lines.extend(self.column.as_ref().map(|column| format!("c:{column}")));
        lines.extend(self.time.as_ref().map(|time| format!("a:{time}")));
        STANDARD.encode(lines.join("\n"))
    }

    /// Reads a cursor.
    ///
    /// # Errors
    /// 400: it is none.
    pub(crate) fn decode(text: &str) -> Result<Self, Error> {
        let refuse = || Error::invalid_parameter("continuation token");
        let bytes = LENIENT.decode(text.trim().trim_end_matches('=')).map_err(|_| refuse())?;
        let lines = String::from_utf8(bytes).map_err(|_| refuse())?;
        let mut cursor = Self { order: Some("asc".to_owned()), ..Self::default() };
        for line in lines.split('\n') {
            let (key, value) = line.split_once(':').ok_or_else(refuse)?;
            let value = value.to_owned();
            match key {
                "l" => cursor.name = value,
                "o" if ["asc", "desc"].contains(&value.as_str()) => cursor.order = Some(value),
                "c" if ["name", "created_at", "updated_at"].contains(&value.as_str()) => cursor.column = Some(value),
                "a" if is_time(&value) => cursor.time = Some(value),
                _ => return Err(refuse()),
            }
        }
        if lines.contains('\0') { Err(refuse()) } else { Ok(cursor) }
    }
}

fn is_time(text: &str) -> bool {
    chrono::DateTime::parse_from_rfc3339(text).is_ok()
}

/// What a page holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageRequest {
    /// The beginning of the names.
    pub(crate) prefix: String,
    /// Whether one level is listed, with its folders.
    pub(crate) has_folders: bool,
    /// The most entries, at most 1,000.
    pub(crate) limit: i64,
    /// Where the page before ended.
    pub(crate) cursor: Option<Cursor>,
    /// The name behind which the list begins, without a cursor.
    pub(crate) start_after: Option<String>,
    /// The least name in byte order, of a list without folders.
    pub(crate) least: Option<String>,
    /// `name`, `created_at` or `updated_at`
    pub(crate) column: Option<String>,
    /// `asc` or `desc`
    pub(crate) order: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    /// Folders: their names end in a slash.
    pub(crate) folders: Vec<Value>,
    pub(crate) objects: Vec<Value>,
    /// Where the page ends, if there is another one, and the name of its last entry.
    pub(crate) next: Option<(Cursor, String)>,
}

/// The least text that is greater than all texts with this beginning, in byte order.
pub(crate) fn upper_bound(prefix: &str) -> Option<String> {
    let prefix = prefix.trim_end_matches(char::MAX);
    let last = prefix.chars().next_back()?;
    let next = match last {
        '\u{d7ff}' => '\u{e000}',
        other => char::from_u32(u32::from(other) + 1)?,
    };
    Some(format!("{}{next}", &prefix[..prefix.len() - last.len_utf8()]))
}

/// Lists a page.
///
/// # Errors
/// The database failed.
pub(crate) async fn list_page(call: &Call, bucket: &str, request: &PageRequest) -> Result<Page, Error> {
    let cursor = request.cursor.clone().unwrap_or_default();
    let order = cursor.order.clone().or_else(|| request.order.clone());
    let column = cursor.column.clone().or_else(|| request.column.clone());
    let is_descending = order.as_deref() == Some("desc");
    let time_column = column.clone().filter(|column| column != "name");
    let after = Some(cursor.name.clone()).filter(|name| !name.is_empty()).or_else(|| request.start_after.clone());
    let limit = request.limit.clamp(1, MAXIMUM_LIMIT);
    let statement = if request.has_folders {
        let levels = if request.prefix.is_empty() { 1 } else { request.prefix.split('/').count() };
        sql(
            &format!(
                "SELECT {} FROM storage.search_v2($1, $2, $3::integer, $4::integer, $5, $6, $7, $8) \
                 WITH ORDINALITY ORDER BY ordinality",
                entry(true)
            ),
            [
                text(request.prefix.as_str()),
                text(bucket),
                text((limit + 1).to_string()),
                text(levels.to_string()),
                text(after.unwrap_or_default()),
                text(if is_descending { "desc" } else { "asc" }),
                text(time_column.as_deref().unwrap_or("name")),
                text(cursor.time.clone().unwrap_or_default()),
            ],
        )
    } else {
        flat_statement(bucket, request, &cursor, time_column.as_deref(), is_descending, limit, after)
    };
    let rows = call.storage.database().run(&call.scope(), statement).await?;
    let mut entries = documents(&rows)?;
    let has_more = i64::try_from(entries.len()).is_ok_and(|count| count > limit);
    entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut page = Page::default();
    if has_more && let Some(last) = entries.last() {
        page.next = Some(next_cursor(request, last, order, column, time_column.as_deref()));
    }
    for mut entry in entries {
        if entry["id"].is_null() {
            let name = entry["name"].as_str().unwrap_or_default();
            if !name.ends_with('/') {
                entry["name"] = format!("{name}/").into();
            }
            page.folders.push(entry);
        } else {
            page.objects.push(entry);
        }
    }
    Ok(page)
}

fn next_cursor(
    request: &PageRequest,
    last: &Value,
    order: Option<String>,
    column: Option<String>,
    time_column: Option<&str>,
) -> (Cursor, String) {
    let shown = last["name"].as_str().unwrap_or_default().to_owned();
    let name = if !request.has_folders || time_column.is_some() {
        shown.clone()
    } else if !last["id"].is_null() {
        format!("{shown}{OBJECT_MARK}")
    } else if shown.is_empty() || shown.len() < request.prefix.len() {
        // A folder without a name: its slash follows that of the prefix.
        format!("{}/", request.prefix)
    } else {
        shown.clone()
    };
    let time = time_column.and_then(|column| last[column].as_str()).map(str::to_owned);
    (Cursor { name, order, column, time }, shown)
}

/// The statement of a list without folders.
fn flat_statement(
    bucket: &str,
    request: &PageRequest,
    cursor: &Cursor,
    time_column: Option<&str>,
    is_descending: bool,
    limit: i64,
    after: Option<String>,
) -> postgrest_rs::sql::Sql {
    let (operator, direction) = if is_descending { ("<", "DESC") } else { (">", "ASC") };
    let high = if request.prefix.is_empty() { None } else { upper_bound(&request.prefix) };
    let after = after.map(|name| name.trim_end_matches(OBJECT_MARK).to_owned());
    let mut values = vec![text(bucket), text(limit.saturating_add(1).to_string())];
    let mut conditions = String::from("bucket_id = $1");
    let mut add = |condition: &str, value| {
        values.push(value);
        conditions.push_str(&condition.replace('?', &format!("${}", values.len())));
    };
    if !request.prefix.is_empty() {
        add(" AND name COLLATE \"C\" >= ?", text(request.prefix.as_str()));
    }
    if let Some(high) = high {
        add(" AND name COLLATE \"C\" < ?", text(high));
    }
    if let Some(least) = &request.least {
        add(" AND name COLLATE \"C\" >= ?", text(least.as_str()));
    }
    let time =
        time_column.map(|column| format!("coalesce(date_trunc('milliseconds', {column}), 'epoch'::timestamptz)"));
    match (after, &time) {
        (None, _) => {}
        (Some(name), None) => add(&format!(" AND name COLLATE \"C\" {operator} ?"), text(name)),
        (Some(name), Some(time)) => {
            let moment = nullable(cursor.time.clone());
            add(
                &format!(
                    " AND ({time}, name COLLATE \"C\") {operator} (coalesce(?::timestamptz, 'epoch'::timestamptz), "
                ),
                moment,
            );
            add("?)", text(name));
        }
    }
    let order = time.map(|time| format!("{time} {direction}, ")).unwrap_or_default();
    sql(
        &format!(
            "SELECT {} FROM storage.objects WHERE {conditions} ORDER BY {order}name COLLATE \"C\" {direction} LIMIT $2::bigint",
            entry(false)
        ),
        values,
    )
}

/// An entry as a JSON document.
fn entry(has_key: bool) -> String {
    let key = if has_key { "'key', key, " } else { "" };
    let time =
        |column: &str| format!("'{column}', to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')");
    format!(
        "json_build_object({key}'name', name, 'id', id, 'metadata', metadata, {}, {}, {})::text",
        time("updated_at"),
        time("created_at"),
        time("last_accessed_at")
    )
}

/// `POST /object/list-v2/:bucket`
pub(super) async fn list(mut call: Call, bucket: &str, body: Body) -> Result<Response<Body>, Error> {
    let fields = Fields::of_body(json_body::read(&call.parts.headers, body, false).await?)?;
    let mut request = PageRequest {
        prefix: fields.text("prefix")?.unwrap_or_default(),
        limit: fields.integer("limit", 1)?.unwrap_or(MAXIMUM_LIMIT),
        ..PageRequest::default()
    };
    let cursor = fields.text("cursor")?.filter(|cursor| !cursor.is_empty());
    request.has_folders = fields.truth("with_delimiter")?.unwrap_or_default();
    if let Some(sorting) = fields.object("sortBy")? {
        sorting.require(&["column"])?;
        request.column = sorting.choice("column", &["name", "updated_at", "created_at"])?;
        request.order = sorting.choice("order", &["asc", "desc"])?;
    }
    call.authenticate()?;
    request.cursor = cursor.map(|cursor| Cursor::decode(&cursor)).transpose()?;
    if request.prefix.contains('\0') {
        return Ok(response::ok(&json!({ "hasNext": false, "folders": [], "objects": [] })));
    }
    let page = list_page(&call, bucket, &request).await?;
    let mut answer = json!({ "hasNext": page.next.is_some() });
    if let Some((cursor, name)) = &page.next {
        answer["nextCursor"] = cursor.encode().into();
        answer["nextCursorKey"] = name.as_str().into();
    }
    answer["folders"] = Value::Array(page.folders);
    answer["objects"] = Value::Array(page.objects);
    Ok(response::ok(&answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_they_were_written() {
        let cursor = Cursor {
            name: "a/b:c".to_owned(),
            order: Some("desc".to_owned()),
            column: Some("created_at".to_owned()),
            time: Some("2026-01-02T03:04:05.678Z".to_owned()),
        };
        assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
        for text in ["nope", "bm9wZQ==", &STANDARD.encode("x:1"), &STANDARD.encode("c:size"), &STANDARD.encode("a:now")]
        {
            assert!(Cursor::decode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn upper_bound_is_above_all_texts_with_the_beginning() {
        assert_eq!(upper_bound("a/").as_deref(), Some("a0"));
        assert_eq!(upper_bound("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(upper_bound("a\u{10ffff}\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(upper_bound("\u{10ffff}"), None);
        assert_eq!(upper_bound(""), None);
    }
}
