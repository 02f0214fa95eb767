//! The first version of the list: one level of a bucket, by pages of numbers.

use axum::body::Body;
use http::Response;
use serde_json::Value;

use crate::buckets::escape_pattern;
use crate::database::rows::documents;
use crate::database::{sql, text};
use crate::error::Error;
use crate::names::{MAXIMUM_OBJECT_NAME, check_bucket_name};
use crate::request::fields::Fields;
use crate::request::{Call, json_body};
use crate::response;

/// The entries of a page, unless the request says otherwise.
const DEFAULT_LIMIT: i64 = 100;

/// An entry as a JSON document.
const ENTRY: &str = "json_build_object('name', name, 'id', id, \
    'updated_at', to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
    'created_at', to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
    'last_accessed_at', to_char(last_accessed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
    'metadata', metadata)::text";

/// `POST /object/list/:bucket`
pub(super) async fn list(mut call: Call, bucket: &str, body: Body) -> Result<Response<Body>, Error> {
    let fields = Fields::of_body(json_body::read(&call.parts.headers, body, false).await?)?;
    fields.require(&["prefix"])?;
    let prefix = fields.text("prefix")?.unwrap_or_default();
    let limit = fields.integer("limit", 1)?.unwrap_or(DEFAULT_LIMIT);
    let offset = fields.integer("offset", 0)?.unwrap_or(0);
    let (column, order) = match fields.object("sortBy")? {
        Some(sorting) => {
            sorting.require(&["column"])?;
            let column = sorting.choice("column", &["name", "updated_at", "created_at", "last_accessed_at"])?;
            (column, sorting.choice("order", &["asc", "desc"])?)
        }
        None => (None, None),
    };
    let search = fields.text("search")?.unwrap_or_default();
    call.authenticate()?;
    check_bucket_name(bucket)?;
    if prefix.contains('\0') || search.contains('\0') || prefix.len() + search.len() > MAXIMUM_OBJECT_NAME {
        return Ok(response::ok(&Value::Array(Vec::new())));
    }
    let column = column.unwrap_or_else(|| "name".to_owned());
    let folder = if prefix.is_empty() || prefix.ends_with('/') { prefix } else { format!("{prefix}/") };
    // Sorted by a time, the function takes patterns.
    let (folder, search) =
        if column == "name" { (folder, search) } else { (escape_pattern(&folder), escape_pattern(&search)) };
    let levels = folder.matches('/').count() + search.matches('/').count() + 1;
    let number = |number: i64| text(number.min(i64::from(i32::MAX)).to_string());
    let statement = sql(
        &format!(
            "SELECT {ENTRY} FROM storage.search($1, $2, $3::integer, $4::integer, $5::integer, $6, $7, $8) \
             WITH ORDINALITY ORDER BY ordinality"
        ),
        [
            text(folder),
            text(bucket),
            number(limit),
            text(levels.to_string()),
            number(offset),
            text(search),
            text(column),
            text(order.unwrap_or_else(|| "asc".to_owned())),
        ],
    );
    let rows = call.storage.database().run(&call.scope(), statement).await?;
    Ok(response::ok(&Value::Array(documents(&rows)?)))
}
