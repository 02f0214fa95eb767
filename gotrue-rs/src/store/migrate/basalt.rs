//! Schema `basalt`: this server's own tables, in numbered files that run once each.

use std::collections::BTreeMap;

use aws_lc_rs::digest;
use gotrue_rules::wire::hex::encode_hex;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use super::{ErrorContext, MigrateError, is_undefined_table, lock_migrations, run_script};

/// One migration of schema `basalt`.
#[derive(Debug, Clone, Copy)]
pub struct MigrationFile {
    /// `0001-what-it-does.sql`; the files run in the order of their names.
    pub name: &'static str,
    /// Its text, with names unqualified or in schema `basalt`.
    pub sql: &'static str,
}

/// All files of `sql/basalt`.
pub const FILES: &[MigrationFile] = &[
    MigrationFile {
        name: "0001-submissions-and-outbox.sql",
        sql: include_str!("../../../../sql/basalt/0001-submissions-and-outbox.sql"),
    },
    MigrationFile {
        name: "0002-saml-assertions.sql",
        sql: include_str!("../../../../sql/basalt/0002-saml-assertions.sql"),
    },
    MigrationFile {
        name: "0003-exchanged-codes.sql",
        sql: include_str!("../../../../sql/basalt/0003-exchanged-codes.sql"),
    },
    MigrationFile { name: "0004-decoys.sql", sql: include_str!("../../../../sql/basalt/0004-decoys.sql") },
    MigrationFile {
        name: "0005-owner-notices.sql",
        sql: include_str!("../../../../sql/basalt/0005-owner-notices.sql"),
    },
    MigrationFile {
        name: "0006-kept-messages.sql",
        sql: include_str!("../../../../sql/basalt/0006-kept-messages.sql"),
    },
    MigrationFile {
        name: "0007-replicas-and-leases.sql",
        sql: include_str!("../../../../sql/basalt/0007-replicas-and-leases.sql"),
    },
    MigrationFile {
        name: "0008-limit-counters.sql",
        sql: include_str!("../../../../sql/basalt/0008-limit-counters.sql"),
    },
];

/// Creates schema `basalt` and runs its missing files, each in its own transaction; returns what ran.
///
/// One query if nothing is missing. Refuses a file that changed after it ran, and versions of a later server.
pub async fn migrate_basalt(pool: &PgPool) -> Result<Vec<&'static str>, MigrateError> {
    run_files(pool, FILES).await
}

/// Runs [`migrate_basalt`] with the given files.
pub async fn run_files(pool: &PgPool, files: &[MigrationFile]) -> Result<Vec<&'static str>, MigrateError> {
    let mut connection = pool.acquire().await.during("connecting to the database")?;
    let pending = match read_checksums(&mut connection).await {
        Ok(recorded) => find_pending(files, &recorded)?,
        Err(error) if is_undefined_table(&error) => files.to_vec(),
        Err(cause) => return Err(MigrateError::Database { doing: "reading the versions of schema basalt", cause }),
    };
    let mut ran = Vec::new();
    for file in pending {
        if run_file(&mut connection, file).await? {
            ran.push(file.name);
        }
    }
    Ok(ran)
}

/// Returns the files that have not run yet, after checking that the others are unchanged.
fn find_pending(
    files: &[MigrationFile],
    recorded: &BTreeMap<String, String>,
) -> Result<Vec<MigrationFile>, MigrateError> {
    let unknown: Vec<&str> =
        recorded.keys().map(String::as_str).filter(|name| files.iter().all(|it| it.name != *name)).collect();
    if !unknown.is_empty() {
        return Err(MigrateError::NewerVersions(unknown.join(", ")));
    }
    if let Some(changed) = files.iter().find(|it| recorded.get(it.name).is_some_and(|sum| *sum != checksum(it.sql))) {
        return Err(MigrateError::ChangedFile(changed.name.to_owned()));
    }
    Ok(files.iter().filter(|it| !recorded.contains_key(it.name)).copied().collect())
}

async fn read_checksums(connection: &mut PgConnection) -> Result<BTreeMap<String, String>, sqlx::Error> {
    const READ: &str = "SELECT name, checksum FROM basalt.migrations";
    let rows = sqlx::raw_sql(AssertSqlSafe(READ)).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Runs one file, unless another server has just run it.
async fn run_file(connection: &mut PgConnection, file: MigrationFile) -> Result<bool, MigrateError> {
    const CREATE_SCHEMA: &str = "
        SET LOCAL statement_timeout = 0;
        SET LOCAL search_path = basalt;
        SET LOCAL client_min_messages = warning;
        CREATE SCHEMA IF NOT EXISTS basalt;
        CREATE TABLE IF NOT EXISTS basalt.migrations (
            name       text PRIMARY KEY,
            checksum   text NOT NULL, -- SHA-256 of the file, in hexadecimal
            applied_at timestamptz NOT NULL DEFAULT now()
        );";
    let mut transaction = sqlx::Connection::begin(connection).await.during("beginning the transaction")?;
    lock_migrations(&mut transaction).await?;
    run_script(&mut transaction, CREATE_SCHEMA.to_owned())
        .await
        .during("creating schema basalt, which requires the CREATE privilege on this database")?;
    let already = read_checksums(&mut transaction).await.during("reading the versions of schema basalt")?;
    if find_pending(&[file], &retain_file(file, already))?.is_empty() {
        return Ok(false);
    }
    run_script(&mut transaction, file.sql.to_owned()).await.during("running a file of schema basalt")?;
    sqlx::query("INSERT INTO basalt.migrations (name, checksum) VALUES ($1, $2)")
        .persistent(false)
        .bind(file.name)
        .bind(checksum(file.sql))
        .execute(&mut *transaction)
        .await
        .during("recording a file of schema basalt")?;
    transaction.commit().await.during("committing a file of schema basalt")?;
    Ok(true)
}

fn retain_file(file: MigrationFile, mut recorded: BTreeMap<String, String>) -> BTreeMap<String, String> {
    recorded.retain(|name, _| name == file.name);
    recorded
}

pub(super) fn checksum(sql: &str) -> String {
    encode_hex(digest::digest(&digest::SHA256, sql.as_bytes()).as_ref())
}
