//! Replaces rows of all tables page by page, and remembers how far it got.
//!
//! Names of tables and columns come from the catalog, so that the SQL is not constant. It is sent as text, which works
//! through poolers, too. The progress is in a schema of its own, which exists only until the work is finished.

use platform::store::quoting::{quote_identifier, quote_literal};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Result, Row};

/// The schemas whose rows are replaced.
const SCHEMAS: &str = "('auth', 'basalt')";

/// The tables with their columns: names, types, primary keys.
const LIST_COLUMNS: &str = "
    SELECT n.nspname::text, c.relname::text, a.attname::text, format_type(a.atttypid, NULL),
           a.attgenerated <> '' OR a.attidentity = 'a',
           COALESCE(a.attnum = ANY (i.indkey), false)
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE n.nspname IN ";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Its type, without a length: `character varying`.
    pub(crate) type_name: String,
    /// Whether the database computes it.
    pub(crate) is_generated: bool,
    /// Whether it is part of the primary key.
    pub(crate) is_key: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its name with that of its schema: `auth.users`.
    pub(crate) name: String,
    /// Its columns in order.
    pub(crate) columns: Vec<Column>,
}

impl Table {
    /// Returns the quoted name.
    fn quoted(&self) -> String {
        self.name.split('.').map(quote_identifier).collect::<Vec<_>>().join(".")
    }
}

/// Some columns of a table, read and written by its primary key of one column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection<'a> {
    pub(crate) table: &'a Table,
    /// The primary key.
    pub(crate) key: &'a Column,
    pub(crate) columns: &'a [&'a Column],
}

async fn fetch(connection: &mut PgConnection, sql: String) -> Result<Vec<PgRow>> {
    sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await
}

async fn execute(connection: &mut PgConnection, sql: String) -> Result<u64> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(|done| done.rows_affected())
}

/// Begins a transaction in which rows that row security hides are an error, in place of being left out.
pub(crate) async fn begin(connection: &mut PgConnection) -> Result<()> {
    execute(connection, "BEGIN; SET LOCAL row_security = off".to_owned()).await.map(drop)
}

/// Commits the open transaction.
pub(crate) async fn commit(connection: &mut PgConnection) -> Result<()> {
    execute(connection, "COMMIT".to_owned()).await.map(drop)
}

/// Lists the tables of the schemas `auth` and `basalt`.
pub(crate) async fn list_tables(connection: &mut PgConnection) -> Result<Vec<Table>> {
    let sql = format!("{LIST_COLUMNS}{SCHEMAS} AND c.relkind IN ('r', 'p') ORDER BY 1, 2, a.attnum");
    let mut tables: Vec<Table> = Vec::new();
    for row in fetch(connection, sql).await? {
        let name = format!("{}.{}", row.try_get::<String, _>(0)?, row.try_get::<String, _>(1)?);
        let column = Column {
            name: row.try_get(2)?,
            type_name: row.try_get(3)?,
            is_generated: row.try_get(4)?,
            is_key: row.try_get(5)?,
        };
        match tables.last_mut().filter(|table| table.name == name) {
            Some(table) => table.columns.push(column),
            None => tables.push(Table { name, columns: vec![column] }),
        }
    }
    Ok(tables)
}

/// Lists the tables of the schemas `auth` and `basalt` in which row security applies to the role.
pub(crate) async fn list_filtered_tables(connection: &mut PgConnection) -> Result<Vec<String>> {
    let condition = format!("n.nspname IN {SCHEMAS} AND row_security_active(c.oid)");
    list_table_names(connection, &condition).await
}

/// Lists the tables of all other schemas except those of PostgreSQL.
pub(crate) async fn list_other_tables(connection: &mut PgConnection) -> Result<Vec<String>> {
    let condition = format!(
        "n.nspname NOT IN {SCHEMAS}
           AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'basalt_anonymisation')
           AND n.nspname NOT LIKE 'pg\\_%'"
    );
    list_table_names(connection, &condition).await
}

/// Lists the tables that meet a condition on their row `c` of `pg_class` and their schema `n`.
async fn list_table_names(connection: &mut PgConnection, condition: &str) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT n.nspname || '.' || c.relname
         FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p')
           AND {condition}
         ORDER BY 1"
    );
    fetch(connection, sql).await?.iter().map(|row| row.try_get(0)).collect()
}

/// Counts the other clients that are connected to the database.
pub async fn count_other_clients(connection: &mut PgConnection) -> Result<i64> {
    let sql = "SELECT count(*)
               FROM pg_stat_activity
               WHERE datname = current_database()
                 AND pid <> pg_backend_pid()
                 AND COALESCE(backend_type, 'client backend') = 'client backend'";
    fetch(connection, sql.to_owned()).await?.first().map_or(Ok(0), |row| row.try_get(0))
}

/// Creates the table of the progress if it does not exist.
pub(crate) async fn create_progress(connection: &mut PgConnection) -> Result<()> {
    let sql = "CREATE SCHEMA IF NOT EXISTS basalt_anonymisation;
               CREATE TABLE IF NOT EXISTS basalt_anonymisation.progress (name text PRIMARY KEY, value text NOT NULL)";
    execute(connection, sql.to_owned()).await.map(drop)
}

/// Returns an entry of the progress; `None` also without its table.
pub(crate) async fn read_progress(connection: &mut PgConnection, name: &str) -> Result<Option<String>> {
    let exists = "SELECT to_regclass('basalt_anonymisation.progress') IS NOT NULL";
    let rows = fetch(connection, exists.to_owned()).await?;
    if !rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false)) {
        return Ok(None);
    }
    let sql = format!("SELECT value FROM basalt_anonymisation.progress WHERE name = {}", quote_literal(name));
    fetch(connection, sql).await?.first().map(|row| row.try_get(0)).transpose()
}

/// Stores an entry of the progress.
pub(crate) async fn write_progress(connection: &mut PgConnection, name: &str, value: &str) -> Result<()> {
    let sql = format!(
        "INSERT INTO basalt_anonymisation.progress (name, value)
         VALUES ({}, {})
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        quote_literal(name),
        quote_literal(value)
    );
    execute(connection, sql).await.map(drop)
}

/// Drops the progress and its schema.
pub(crate) async fn drop_progress(connection: &mut PgConnection) -> Result<()> {
    execute(connection, "DROP SCHEMA IF EXISTS basalt_anonymisation CASCADE".to_owned()).await.map(drop)
}

/// Returns the next rows after a key, locked, each as a JSON object.
///
/// The members are the selected columns and the key.
pub(crate) async fn read_page(
    connection: &mut PgConnection,
    selection: Selection<'_>,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Value>> {
    let key = quote_identifier(&selection.key.name);
    let condition = after.map_or_else(String::new, |after| {
        format!("WHERE {key} > {}::{}", quote_literal(after), selection.key.type_name)
    });
    let mut columns: Vec<String> = selection.columns.iter().map(|column| quote_identifier(&column.name)).collect();
    columns.push(key.clone());
    let sql = format!(
        "SELECT to_jsonb(page) FROM (SELECT {} FROM {} {condition} ORDER BY {key} LIMIT {limit} FOR UPDATE) AS page",
        columns.join(", "),
        selection.table.quoted()
    );
    fetch(connection, sql).await?.iter().map(|row| row.try_get(0)).collect()
}

/// Writes the selected columns of rows by their key; returns how many there were.
pub(crate) async fn write_page(connection: &mut PgConnection, selection: Selection<'_>, rows: &[Value]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let table = selection.table.quoted();
    let key = quote_identifier(&selection.key.name);
    let assign = |column: &&Column| format!("{0} = n.{0}", quote_identifier(&column.name));
    let assignments: Vec<String> = selection.columns.iter().map(assign).collect();
    let rows = quote_literal(&Value::Array(rows.to_vec()).to_string());
    let sql = format!(
        "UPDATE {table} t SET {} FROM jsonb_populate_recordset(NULL::{table}, {rows}::jsonb) n WHERE t.{key} = n.{key}",
        assignments.join(", ")
    );
    execute(connection, sql).await
}

/// Deletes some rows of a table; returns how many there were, 0 at the end.
///
/// `condition` is a constant of the rules.
pub(crate) async fn delete_page(
    connection: &mut PgConnection,
    table: &Table,
    condition: &'static str,
    limit: u32,
) -> Result<u64> {
    let table = table.quoted();
    let sql = format!(
        "DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE {condition} LIMIT {limit}))"
    );
    execute(connection, sql).await
}

/// Lists the next different phone numbers of users after one, in order; empty at the end.
pub(crate) async fn list_phones(connection: &mut PgConnection, after: &str, limit: u32) -> Result<Vec<String>> {
    let after = quote_literal(after);
    let sql = format!("SELECT DISTINCT phone FROM auth.users WHERE phone > {after} ORDER BY phone LIMIT {limit}");
    fetch(connection, sql).await?.iter().map(|row| row.try_get(0)).collect()
}
