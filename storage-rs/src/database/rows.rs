//! Rows as the API shows them.

use serde_json::Value;
use tokio_postgres::Row;

use crate::error::Error;

/// A time as the API writes it.
pub const TIME: &str = "YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"";

/// The text in a column; `None` for null.
pub fn text(row: &Row, column: usize) -> Option<String> {
    row.try_get::<_, Option<String>>(column).ok().flatten()
}

/// The JSON in a column, which is a text; `None` for null.
pub fn json(row: &Row, column: usize) -> Option<Value> {
    serde_json::from_str(&text(row, column)?).ok()
}

/// The JSON documents in the first column of rows.
///
/// # Errors
/// A row has something else.
pub fn documents(rows: &[Row]) -> Result<Vec<Value>, Error> {
    let found = rows.iter().map(|row| json(row, 0).ok_or_else(|| Error::internal("a row without a document")));
    found.collect()
}
