//! The tables that record which files of a project ran, and which of their statements did not.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::super::error::{ErrorContext, MigrateError, is_undefined_table};
use super::super::script::ScriptStatement;
use super::super::session::run_script;
use super::preparation::RECORDS;
use super::schema::ProjectMigration;
use super::skipped::SkippedStatement;

/// Returns the recorded versions; `None` if no file of a project ever ran.
pub async fn read_project_versions(connection: &mut PgConnection) -> Result<Option<Vec<String>>, MigrateError> {
    const READ: &str = "SELECT version FROM supabase_migrations.schema_migrations ORDER BY version";
    match sqlx::raw_sql(AssertSqlSafe(READ)).fetch_all(connection).await {
        Ok(rows) => {
            rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map(Some).during("reading versions")
        }
        Err(error) if is_undefined_table(&error) => Ok(None),
        Err(cause) => Err(MigrateError::Database { doing: "reading the versions of the project", cause }),
    }
}

/// Returns the statements of the migrations that ran, in their order, by version; `None` if they were not recorded.
pub(super) async fn read_migrations(
    connection: &mut PgConnection,
) -> Result<BTreeMap<String, Option<Vec<String>>>, MigrateError> {
    const READ: &str = "SELECT version, statements FROM supabase_migrations.schema_migrations";
    let doing = "reading the migrations of the project";
    let rows = sqlx::query(READ).persistent(false).fetch_all(connection).await.during(doing)?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, _>>().during(doing)
}

/// Returns the hashes of the seed files that ran, by their paths.
pub(super) async fn read_seeds(connection: &mut PgConnection) -> Result<BTreeMap<String, String>, MigrateError> {
    const READ: &str = "SELECT path, hash FROM supabase_migrations.seed_files";
    let doing = "reading the seed files of the project";
    let rows = sqlx::raw_sql(AssertSqlSafe(READ)).fetch_all(connection).await.during(doing)?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, _>>().during(doing)
}

/// Returns the statements that were skipped, by file and line.
///
/// A database that no version with this table has prepared has none.
pub async fn read_skipped_statements(connection: &mut PgConnection) -> Result<Vec<SkippedStatement>, MigrateError> {
    const READ: &str = "SELECT path, ordinal, line, statement, reason, remedy, is_note
        FROM supabase_migrations.skipped_statements ORDER BY path, ordinal";
    let doing = "reading the skipped statements of the project";
    let rows = match sqlx::raw_sql(AssertSqlSafe(READ)).fetch_all(connection).await {
        Err(error) if is_undefined_table(&error) => return Ok(Vec::new()),
        rows => rows.during(doing)?,
    };
    let read = |row: &sqlx::postgres::PgRow| {
        let count = |at: usize| row.try_get(at).map(|number: i32| usize::try_from(number).unwrap_or_default());
        Ok(SkippedStatement {
            path: row.try_get(0)?,
            ordinal: count(1)?,
            line: count(2)?,
            statement: row.try_get(3)?,
            reason: row.try_get(4)?,
            remedy: row.try_get(5)?,
            is_note: row.try_get(6)?,
        })
    };
    rows.iter().map(read).collect::<Result<_, sqlx::Error>>().during(doing)
}

/// Creates the tables of records anew where a file of the project dropped one of them.
pub(super) async fn restore_records(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    const ARE_THERE: &str = "SELECT pg_catalog.to_regclass('supabase_migrations.schema_migrations') IS NOT NULL
        AND pg_catalog.to_regclass('supabase_migrations.seed_files') IS NOT NULL
        AND pg_catalog.to_regclass('supabase_migrations.skipped_statements') IS NOT NULL";
    let are_there: bool = sqlx::query_scalar(ARE_THERE).persistent(false).fetch_one(&mut *connection).await?;
    if are_there { Ok(()) } else { run_script(connection, RECORDS.to_owned()).await }
}

/// Records that a migration ran.
pub(super) async fn record_migration(
    connection: &mut PgConnection,
    migration: &ProjectMigration,
    statements: &[ScriptStatement],
) -> Result<(), sqlx::Error> {
    const INSERT: &str = "INSERT INTO supabase_migrations.schema_migrations AS m (version, statements, name)
        VALUES ($1, $2, $3)
        ON CONFLICT (version) DO UPDATE SET statements = EXCLUDED.statements, name = EXCLUDED.name";
    let statements: Vec<&str> = statements.iter().map(|statement| statement.sql.as_str()).collect();
    sqlx::query(INSERT)
        .persistent(false)
        .bind(&migration.version)
        .bind(statements)
        .bind(&migration.name)
        .execute(connection)
        .await
        .map(drop)
}

/// Records that a seed file ran.
pub(super) async fn record_seed(connection: &mut PgConnection, path: &str, hash: &str) -> Result<(), sqlx::Error> {
    const INSERT: &str = "INSERT INTO supabase_migrations.seed_files AS s (path, hash) VALUES ($1, $2)
        ON CONFLICT (path) DO UPDATE SET hash = EXCLUDED.hash";
    sqlx::query(INSERT).persistent(false).bind(path).bind(hash).execute(connection).await.map(drop)
}

/// Replaces the skipped statements of a file.
pub(super) async fn record_skipped(
    connection: &mut PgConnection,
    path: &str,
    skipped: &[SkippedStatement],
) -> Result<(), sqlx::Error> {
    const DELETE: &str = "DELETE FROM supabase_migrations.skipped_statements WHERE path = $1";
    const INSERT: &str = "INSERT INTO supabase_migrations.skipped_statements
            (path, ordinal, line, statement, reason, remedy, is_note)
        SELECT $1, s.*
        FROM unnest($2::int[], $3::int[], $4::text[], $5::text[], $6::text[], $7::bool[]) AS s";
    sqlx::query(DELETE).persistent(false).bind(path).execute(&mut *connection).await?;
    if skipped.is_empty() {
        return Ok(());
    }
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    sqlx::query(INSERT)
        .persistent(false)
        .bind(path)
        .bind(skipped.iter().map(|statement| count(statement.ordinal)).collect::<Vec<_>>())
        .bind(skipped.iter().map(|statement| count(statement.line)).collect::<Vec<_>>())
        .bind(skipped.iter().map(|statement| statement.statement.as_str()).collect::<Vec<_>>())
        .bind(skipped.iter().map(|statement| statement.reason.as_str()).collect::<Vec<_>>())
        .bind(skipped.iter().map(|statement| statement.remedy.as_deref()).collect::<Vec<_>>())
        .bind(skipped.iter().map(|statement| statement.is_note).collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(drop)
}
