//! A row of a dump that was not inserted.

use gotrue_rules::domain::bulk::ImportTable;
use serde_json::Value;
use uuid::Uuid;

/// A row that was not inserted, or may not have been.
pub(super) struct LeftOutRow {
    pub(super) table: ImportTable,
    pub(super) line: u64,
    /// Its id; `None` if it has none.
    pub(super) id: Option<Uuid>,
    /// Whether what it belongs to is of this import.
    pub(super) is_attached: bool,
}

impl LeftOutRow {
    /// Creates a row of a table from its columns.
    pub(super) fn new(table: ImportTable, line: u64, id: Option<&Value>, is_attached: bool) -> Self {
        let id = id.and_then(Value::as_str).and_then(|id| id.parse().ok());
        Self { table, line, id, is_attached }
    }
}
