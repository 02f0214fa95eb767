//! Compares the old and the new database: roles, objects, rows and sequences.

use std::collections::BTreeSet;
use std::fmt::Debug;

use anyhow::{Context, bail};
use embedded_postgres::database_copy::{self, CatalogObject};
use sqlx::PgConnection;

use crate::plural::format_count;
use crate::progress::progress_bar;

/// The largest number of differences in a message.
const MAX_NAMED: usize = 8;

/// What of the objects is compared beside all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// Their definitions: they were created by migrations.
    Definitions,
    /// Their names: they were copied by PostgreSQL's programs, and some definitions have no common form.
    Names,
}

/// The size of what is equal in both databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentSummary {
    /// The number of tables.
    pub tables: usize,
    /// The number of rows.
    pub rows: i64,
}

impl Comparison {
    /// Compares everything.
    ///
    /// # Errors
    /// There is a difference.
    pub(super) async fn compare(
        self,
        old: &mut PgConnection,
        new: &mut PgConnection,
    ) -> anyhow::Result<ContentSummary> {
        let mut differences = Vec::new();
        let roles = [database_copy::list_role_statements(old).await?, database_copy::list_role_statements(new).await?];
        let [old_roles, new_roles] = roles.each_ref().map(|listed| database_copy::without_passwords(&listed.roles));
        add_differences("role", old_roles, new_roles, &mut differences);
        let [old_settings, new_settings] = roles.map(|listed| listed.settings);
        add_differences("setting", old_settings, new_settings, &mut differences);
        let (in_old, in_new) = (database_copy::list_objects(old).await?, database_copy::list_objects(new).await?);
        add_differences("object", self.select(in_old), self.select(in_new), &mut differences);
        let sequences = [database_copy::list_sequences(old).await?, database_copy::list_sequences(new).await?];
        let [in_old, in_new] =
            sequences.map(|list| list.into_iter().map(|item| (item.name, item.last_value, item.is_called)));
        add_differences("sequence", in_old, in_new, &mut differences);
        let summary = compare_rows(old, new, &mut differences).await?;
        if !differences.is_empty() {
            let more = differences.len().saturating_sub(MAX_NAMED);
            differences.truncate(MAX_NAMED);
            let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
            bail!("the new database differs from the old one: {}{rest}", differences.join("; "));
        }
        Ok(summary)
    }

    fn select(self, objects: Vec<CatalogObject>) -> impl Iterator<Item = CatalogObject> {
        let are_definitions_kept = self == Self::Definitions;
        objects.into_iter().map(move |object| CatalogObject {
            definition: object.definition.filter(|_| are_definitions_kept),
            ..object
        })
    }
}

/// Counts and sums the rows of every table in both databases.
async fn compare_rows(
    old: &mut PgConnection,
    new: &mut PgConnection,
    differences: &mut Vec<String>,
) -> anyhow::Result<ContentSummary> {
    let tables = database_copy::list_tables(old).await.context("listing the tables")?;
    eprintln!("Comparing {} …", format_count(tables.len(), "table"));
    let bar = progress_bar(tables.len() as u64, false);
    let mut rows = 0;
    for table in &tables {
        bar.set_message(table.name.clone());
        let doing = || format!("comparing {}", table.name);
        let (in_old, in_new) = tokio::join!(database_copy::sum_rows(old, table), database_copy::sum_rows(new, table));
        let (in_old, in_new) = (in_old.with_context(doing)?, in_new.with_context(doing)?);
        if in_old != in_new {
            let text = format!("{} has {} and had {}", table.name, format_count(in_new.rows, "row"), in_old.rows);
            differences.push(if in_old.rows == in_new.rows { format!("{text}, with other values") } else { text });
        }
        rows += in_old.rows;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(ContentSummary { tables: tables.len(), rows })
}

/// Adds what is in one of two lists only.
fn add_differences<T: Debug + Ord>(
    kind: &str,
    old: impl IntoIterator<Item = T>,
    new: impl IntoIterator<Item = T>,
    differences: &mut Vec<String>,
) {
    let (old, new): (BTreeSet<T>, BTreeSet<T>) = (old.into_iter().collect(), new.into_iter().collect());
    differences.extend(old.difference(&new).map(|name| format!("{kind} {name:?} is missing")));
    differences.extend(new.difference(&old).map(|name| format!("{kind} {name:?} is additional")));
}
