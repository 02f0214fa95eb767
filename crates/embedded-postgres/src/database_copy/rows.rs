//! The rows of tables: copying, numbers and sums, and the values of sequences.

use bytes::BytesMut;
use futures::TryStreamExt;
use platform::store::quoting::quote_literal;
use sqlx::{PgConnection, Result, Row};

use super::query::{execute, fetch, fetch_texts};

/// Bytes of rows that are sent at a time.
const CHUNK_BYTES: usize = 256 * 1024;

/// The schemas of PostgreSQL itself are left out, and the tables of extensions.
const LIST_TABLES: &str = "
    SELECT format('%I.%I', n.nspname, c.relname),
           coalesce(string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum), ''),
           coalesce(string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = ''), ''),
           pg_table_size(c.oid)
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind = 'r'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND n.nspname !~ '^pg_(toast|temp)'
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
    GROUP BY c.oid, n.nspname, c.relname
    ORDER BY 1";

const LIST_SEQUENCES: &str = "
    SELECT format('%I.%I', n.nspname, c.relname)
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'S'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND n.nspname !~ '^pg_(toast|temp)'
    ORDER BY 1";

/// A table whose rows are copied. A partition is a table; a partitioned table has no rows of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedTable {
    /// Its quoted name with that of its schema.
    pub name: String,
    /// Its quoted columns.
    columns: String,
    /// Those that the database does not compute.
    stored_columns: String,
    /// The bytes of its rows on disk.
    pub bytes: u64,
}

/// The number of rows of a table, and a sum that does not depend on their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSum {
    /// The number of rows.
    pub rows: i64,
    /// The sum of the beginnings of the MD5 of each row.
    pub sum: String,
}

/// The position of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceState {
    /// Its quoted name with that of its schema.
    pub name: String,
    pub last_value: i64,
    /// Whether that value was used.
    pub is_called: bool,
}

pub async fn list_tables(connection: &mut PgConnection) -> Result<Vec<CopiedTable>> {
    let rows = fetch(connection, LIST_TABLES).await?;
    let table = |row: &sqlx::postgres::PgRow| {
        Ok(CopiedTable {
            name: row.try_get(0)?,
            columns: row.try_get(1)?,
            stored_columns: row.try_get(2)?,
            bytes: row.try_get::<i64, _>(3)?.try_into().unwrap_or_default(),
        })
    };
    rows.iter().map(table).collect()
}

/// Deletes all rows of the tables.
pub async fn truncate(connection: &mut PgConnection, tables: &[CopiedTable]) -> Result<()> {
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    execute(connection, format!("TRUNCATE {}", names.join(", "))).await
}

/// Copies the rows of a table between two databases; returns how many there were.
pub async fn copy_rows(from: &mut PgConnection, to: &mut PgConnection, table: &CopiedTable) -> Result<u64> {
    let columns = &table.stored_columns;
    // Without a list these are all columns that the database does not compute.
    let source = if columns.is_empty() { table.name.clone() } else { format!("{} ({columns})", table.name) };
    let mut rows = from.copy_out_raw(&format!("COPY {source} TO STDOUT")).await?;
    let mut target = to.copy_in_raw(&format!("COPY {source} FROM STDIN")).await?;
    let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
    while let Some(row) = rows.try_next().await? {
        chunk.extend_from_slice(&row);
        if chunk.len() >= CHUNK_BYTES {
            target.send(&chunk[..]).await?;
            chunk.clear();
        }
    }
    target.send(&chunk[..]).await?;
    target.finish().await
}

/// Counts and sums the rows of a table.
pub async fn sum_rows(connection: &mut PgConnection, table: &CopiedTable) -> Result<RowSum> {
    let sql = format!(
        "SELECT count(*), coalesce(sum(('x' || substr(md5(ROW({})::text), 1, 15))::bit(60)::bigint), 0)::text FROM ONLY {}",
        table.columns, table.name
    );
    let rows = fetch(connection, sql).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    Ok(RowSum { rows: row.try_get(0)?, sum: row.try_get(1)? })
}

/// Lists the sequences with their positions.
pub async fn list_sequences(connection: &mut PgConnection) -> Result<Vec<SequenceState>> {
    let mut sequences = Vec::new();
    for name in fetch_texts(connection, LIST_SEQUENCES).await? {
        let rows = fetch(connection, format!("SELECT last_value, is_called FROM {name}")).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        sequences.push(SequenceState { last_value: row.try_get(0)?, is_called: row.try_get(1)?, name });
    }
    Ok(sequences)
}

/// Sets the positions of sequences.
pub async fn set_sequences(connection: &mut PgConnection, sequences: &[SequenceState]) -> Result<()> {
    for SequenceState { name, last_value, is_called } in sequences {
        let name = quote_literal(name);
        fetch(connection, format!("SELECT pg_catalog.setval({name}, {last_value}, {is_called})")).await?;
    }
    Ok(())
}
