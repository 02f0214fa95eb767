//! The scripts and the lock of migrations.

use sqlx::{AssertSqlSafe, PgConnection};

use super::error::{ErrorContext, MigrateError};

/// The advisory lock of all migrations: "basalt" in ASCII.
pub const ADVISORY_LOCK: i64 = 0x6261_7361_6c74;

/// Runs several statements at once.
///
/// The text consists of files of `sql/` and names from [`crate::store::quoting::quote_identifier`].
pub async fn run_script(connection: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
}

/// Takes the lock of all migrations until the transaction ends.
///
/// It serializes servers that start at the same time.
pub async fn lock_migrations(transaction: &mut PgConnection) -> Result<(), MigrateError> {
    // Not prepared: a pooler would leave the prepared statement to other clients.
    let wait = "SET LOCAL lock_timeout = '10s'";
    let sql = format!("{wait}; SELECT pg_advisory_xact_lock({ADVISORY_LOCK}); SET LOCAL lock_timeout TO DEFAULT");
    run_script(transaction, sql).await.during("acquiring the lock of migrations")
}
