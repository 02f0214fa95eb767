//! The first version of the list: one level of a bucket, by pages of numbers.

use axum::body::Body;
use http::Response;
use postgrest_rs::sql::Sql;
use serde_json::Value;

use crate::database::rows::documents;
use crate::database::{escape_pattern, sql, text};
use crate::error::Error;
use crate::names::{MAXIMUM_OBJECT_NAME, check_bucket_name};
use crate::request::fields::Fields;
use crate::request::{Call, json_body};
use crate::response;

/// The entries of a page, unless the request says otherwise.
const DEFAULT_LIMIT: i64 = 100;
/// The most entries of a page, as `storage.search` has it.
const MAXIMUM_LIMIT: i64 = 1500;

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
    let page = Page { limit: limit.min(i64::from(i32::MAX)), offset: offset.min(i64::from(i32::MAX)) };
    let order = order.unwrap_or_else(|| "asc".to_owned());
    let (database, scope) = (call.storage.database(), call.scope());
    if call.storage.config().lists_by_case && column == "name" && search.is_empty() {
        match database.run(&scope, list_by_case(bucket, &folder, &page, &order)).await {
            // The schema is that of a former Supabase Storage.
            Err(error) if error.is_undefined_function() => {}
            rows => return Ok(response::ok(&Value::Array(documents(&rows?)?))),
        }
    }
    let statement = list_without_case(bucket, Beginning { folder, search }, &page, (column, order));
    let rows = database.run(&scope, statement).await?;
    Ok(response::ok(&Value::Array(documents(&rows)?)))
}

/// The entries of a page, and how many come before it.
struct Page {
    limit: i64,
    offset: i64,
}

/// How the names of a page begin: with a folder, and with a search in it.
struct Beginning {
    folder: String,
    search: String,
}

/// A page in byte order, which reads no more entries than it and the pages before it have.
fn list_by_case(bucket: &str, folder: &str, page: &Page, order: &str) -> Sql {
    let (limit, offset) = (page.limit.min(MAXIMUM_LIMIT), page.offset);
    sql(
        &format!(
            "SELECT {ENTRY} FROM (\
                 SELECT substr(CASE WHEN id IS NULL THEN rtrim(listed.name, '/') ELSE listed.name END, length($1) + 1) AS name, \
                        id, updated_at, created_at, last_accessed_at, metadata, ordinality \
                 FROM storage.list_objects_with_delimiter($2, $1, '/', $3::integer, '', '', $4) WITH ORDINALITY AS listed \
                 ORDER BY ordinality OFFSET $5::integer) AS entries \
             ORDER BY ordinality"
        ),
        [
            text(folder),
            text(bucket),
            text((limit + offset).min(i64::from(i32::MAX)).to_string()),
            text(order),
            text(offset.to_string()),
        ],
    )
}

/// A page as the reference has it: without regard to case, and for times with patterns in place of names.
fn list_without_case(bucket: &str, beginning: Beginning, page: &Page, (column, order): (String, String)) -> Sql {
    let Beginning { folder, search } = beginning;
    let (folder, search) =
        if column == "name" { (folder, search) } else { (escape_pattern(&folder), escape_pattern(&search)) };
    let levels = folder.matches('/').count() + search.matches('/').count() + 1;
    sql(
        &format!(
            "SELECT {ENTRY} FROM storage.search($1, $2, $3::integer, $4::integer, $5::integer, $6, $7, $8) \
             WITH ORDINALITY ORDER BY ordinality"
        ),
        [
            text(folder),
            text(bucket),
            text(page.limit.to_string()),
            text(levels.to_string()),
            text(page.offset.to_string()),
            text(search),
            text(column),
            text(order),
        ],
    )
}
