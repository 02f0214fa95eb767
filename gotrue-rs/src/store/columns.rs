//! Reads the columns of a row in the order in which the statement selects them.

use chrono::{DateTime, Utc};
use platform::store::stored_time::StoredTime;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sqlx::postgres::{PgRow, Postgres};
use sqlx::types::Json;
use sqlx::{Column, ColumnIndex, Decode, Row, Type};

/// Finds columns by name. A column that follows the one read before is found without a search.
pub(super) struct ColumnReader<'r> {
    row: &'r PgRow,
    /// The position after the column that was read last.
    next: Option<usize>,
}

impl<'r> ColumnReader<'r> {
    pub(super) fn new(row: &'r PgRow) -> Self {
        Self { row, next: None }
    }

    /// Decodes a column.
    pub(super) fn get<T>(&mut self, name: &str) -> sqlx::Result<T>
    where
        T: Decode<'r, Postgres> + Type<Postgres>,
    {
        let is_named = |position: &usize| self.row.columns().get(*position).is_some_and(|column| column.name() == name);
        let position = match self.next.filter(is_named) {
            Some(position) => position,
            None => name.index(self.row)?,
        };
        self.next = Some(position + 1);
        // The second error has the column's name.
        self.row.try_get(position).or_else(|_| self.row.try_get(name))
    }

    /// Decodes a text; NULL is empty.
    pub(super) fn text(&mut self, name: &str) -> sqlx::Result<String> {
        Ok(self.get::<Option<String>>(name)?.unwrap_or_default())
    }

    /// Decodes a text; an empty one is none.
    pub(super) fn some_text(&mut self, name: &str) -> sqlx::Result<Option<String>> {
        Ok(self.get::<Option<String>>(name)?.filter(|text| !text.is_empty()))
    }

    /// Decodes a time; NULL is 1970.
    pub(super) fn time(&mut self, name: &str) -> sqlx::Result<DateTime<Utc>> {
        Ok(self.some_time(name)?.unwrap_or_default())
    }

    /// Decodes a time.
    pub(super) fn some_time(&mut self, name: &str) -> sqlx::Result<Option<DateTime<Utc>>> {
        Ok(self.get::<Option<StoredTime>>(name)?.map(|time| time.0.and_utc()))
    }

    /// Decodes a JSON object; anything else is empty.
    pub(super) fn object(&mut self, name: &str) -> sqlx::Result<Map<String, Value>> {
        match self.get::<Option<Json<Value>>>(name)? {
            Some(Json(Value::Object(object))) => Ok(object),
            _ => Ok(Map::new()),
        }
    }

    /// Decodes an array of JSON values; NULL is empty.
    pub(super) fn list<T>(&mut self, name: &str) -> sqlx::Result<Vec<T>>
    where
        T: DeserializeOwned + 'static,
    {
        let rows = self.get::<Option<Vec<Json<T>>>>(name)?.unwrap_or_default();
        Ok(rows.into_iter().map(|Json(row)| row).collect())
    }
}
