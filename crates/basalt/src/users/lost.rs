//! Rows of a dump that were not inserted: those that exist already, and those that could not be moved.

use std::collections::{HashMap, HashSet};

use anyhow::Context;
use gotrue_rules::domain::bulk::ImportTable;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use uuid::Uuid;

use super::import::{BATCH_SIZE, Import};
use super::left_out_row::LeftOutRow;

impl Import<'_> {
    /// Notes the rows of which only `count` were inserted: the others exist, or are lost.
    pub(super) async fn note_rest(
        &mut self,
        table: ImportTable,
        rows: &[(u64, Value)],
        count: u64,
    ) -> anyhow::Result<()> {
        let rest = (rows.len() as u64).saturating_sub(count);
        if rest == 0 || !self.are_rest_rows_reported {
            return Ok(());
        }
        let rows: Vec<_> = rows.iter().map(|(line, row)| LeftOutRow::new(table, *line, row.get("id"), true)).collect();
        if self.is_dry_run {
            self.left_out.extend(rows);
            return Ok(());
        }
        let existing = self.find_rows(table, rows.iter().filter_map(|row| row.id)).await?;
        let name = table.row_name()[1];
        let before = (existing.len() as u64).min(rest);
        if before > 0 {
            *self.done.existing_rows.entry(name).or_default() += before;
        }
        if rest > before {
            // Which of them were inserted is seen from outside when the transaction has ended.
            self.left_out.extend(rows.into_iter().filter(|row| row.id.is_none_or(|id| !existing.contains(&id))));
        }
        Ok(())
    }

    /// Reports the rows that do not exist, with their lines.
    pub(super) async fn report_lost_rows(&mut self) -> anyhow::Result<()> {
        let mut by_table: HashMap<ImportTable, Vec<LeftOutRow>> = HashMap::new();
        for row in std::mem::take(&mut self.left_out) {
            by_table.entry(row.table).or_default().push(row);
        }
        for (table, rows) in by_table {
            let [one, several] = table.row_name();
            for part in rows.chunks(BATCH_SIZE) {
                let existing = self.find_rows(table, part.iter().filter_map(|row| row.id)).await?;
                for row in part {
                    if row.id.is_some_and(|id| existing.contains(&id)) {
                        // A row that may be attached was inserted by this import, unless it is a dry run.
                        if !row.is_attached || self.is_dry_run {
                            *self.done.existing_rows.entry(several).or_default() += 1;
                        }
                        continue;
                    }
                    *self.done.lost.entry(several).or_default() += 1;
                    let reason = if row.is_attached {
                        "what it refers to is missing here, or another row has its place"
                    } else {
                        "it belongs to an account that is not of this import"
                    };
                    self.print_at(row.line, format!("this {one} is not moved: {reason}"));
                }
            }
        }
        Ok(())
    }

    /// Returns which of these ids a table has, as committed.
    async fn find_rows(&self, table: ImportTable, ids: impl Iterator<Item = Uuid>) -> anyhow::Result<HashSet<Uuid>> {
        let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
        let statement = format!("SELECT id FROM auth.{} WHERE id = ANY('{{{}}}')", table.name(), ids.join(","));
        let doing = "looking up rows that were not inserted";
        let options = self.database.pool.connect_options();
        let mut connection = PgConnection::connect_with(options).await.context(doing)?;
        // One message: of several, a pooler in transaction mode gives each to another session.
        let rows = sqlx::raw_sql(AssertSqlSafe(statement)).fetch_all(&mut connection).await;
        let found = rows.and_then(|rows| rows.iter().map(|row| row.try_get(0)).collect());
        drop(connection.close().await);
        found.context(doing)
    }
}
