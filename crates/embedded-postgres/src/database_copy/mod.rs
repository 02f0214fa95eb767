//! Copies a database to one of another release of PostgreSQL, and lists what has to be equal in both.
//!
//! Names come from the catalog, so that the SQL is not constant. It is sent as text. The sessions are those of
//! superusers on clusters that no other client uses.

mod objects;
mod query;
mod roles;
mod rows;

pub use objects::{CatalogObject, list_missing_extensions, list_objects, list_other_databases};
pub use roles::{list_role_statements, run_statements, without_passwords};
pub use rows::{copy_rows, list_sequences, list_tables, set_sequences, sum_rows, truncate};

use query::{execute, fetch_texts};
use sqlx::{PgConnection, Result};

/// The settings on which the text of values depends, and no limits of time.
const SESSION: &str = "
    SET search_path = '';
    SET datestyle = 'ISO';
    SET intervalstyle = 'postgres';
    SET timezone = 'UTC';
    SET bytea_output = 'hex';
    SET extra_float_digits = 1;
    SET statement_timeout = 0;
    SET lock_timeout = 0;
    SET idle_in_transaction_session_timeout = 0";

/// Gives values the same text in every session that is compared.
pub async fn prepare_session(connection: &mut PgConnection) -> Result<()> {
    execute(connection, SESSION).await
}

/// Begins a transaction that sees one state and changes nothing; returns the name of its snapshot.
pub async fn begin_snapshot(connection: &mut PgConnection) -> Result<String> {
    execute(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let names = fetch_texts(connection, "SELECT pg_catalog.pg_export_snapshot()").await?;
    Ok(names.into_iter().next().unwrap_or_default())
}

/// Begins a transaction in which neither triggers run nor foreign keys are checked.
pub async fn begin_load(connection: &mut PgConnection) -> Result<()> {
    execute(connection, "BEGIN; SET LOCAL session_replication_role = replica").await
}

/// Commits the open transaction.
pub async fn commit(connection: &mut PgConnection) -> Result<()> {
    execute(connection, "COMMIT").await
}

/// Collects the statistics of the planner, and writes all changes to the files.
pub async fn analyze_and_flush(connection: &mut PgConnection) -> Result<()> {
    execute(connection, "ANALYZE").await?;
    execute(connection, "CHECKPOINT").await
}
