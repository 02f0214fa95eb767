//! Schema `basalt`: what is ours, in numbered files that run once each.

use std::collections::BTreeMap;

use aws_lc_rs::digest;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use super::{MigrateError, While, is_no_such_table, lock, run};

/// One step of schema `basalt`.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// `0001-what-it-does.sql`; the files run in the order of their names.
    pub name: &'static str,
    /// Its text, with names unqualified or in schema `basalt`.
    pub sql: &'static str,
}

/// The files of `sql/basalt`, all of them.
pub const FILES: &[File] = &[
    File {
        name: "0001-submissions-and-outbox.sql",
        sql: include_str!("../../../../sql/basalt/0001-submissions-and-outbox.sql"),
    },
    File { name: "0002-saml-assertions.sql", sql: include_str!("../../../../sql/basalt/0002-saml-assertions.sql") },
    File { name: "0003-exchanged-codes.sql", sql: include_str!("../../../../sql/basalt/0003-exchanged-codes.sql") },
    File { name: "0004-decoys.sql", sql: include_str!("../../../../sql/basalt/0004-decoys.sql") },
    File { name: "0005-owner-notices.sql", sql: include_str!("../../../../sql/basalt/0005-owner-notices.sql") },
];

/// Makes schema `basalt` and whatever of it is missing, each file in a transaction of its own; returns what ran. Nothing is
/// missing: one query. A file that reads differently than when it ran, and versions of a later server, are refused.
pub async fn basalt(pool: &PgPool) -> Result<Vec<&'static str>, MigrateError> {
    files(pool, FILES).await
}

/// [`basalt`] with these files.
pub async fn files(pool: &PgPool, files: &[File]) -> Result<Vec<&'static str>, MigrateError> {
    let mut connection = pool.acquire().await.during("connecting to the database")?;
    let pending = match recorded(&mut connection).await {
        Ok(recorded) => pending(files, &recorded)?,
        Err(error) if is_no_such_table(&error) => files.to_vec(),
        Err(cause) => return Err(MigrateError::Database { doing: "reading the versions of schema basalt", cause }),
    };
    let mut ran = Vec::new();
    for file in pending {
        if apply(&mut connection, file).await? {
            ran.push(file.name);
        }
    }
    Ok(ran)
}

/// The files that have not run yet, once the ones that have are found to be as they were.
fn pending(files: &[File], recorded: &BTreeMap<String, String>) -> Result<Vec<File>, MigrateError> {
    let unknown: Vec<&str> =
        recorded.keys().map(String::as_str).filter(|name| files.iter().all(|it| it.name != *name)).collect();
    if !unknown.is_empty() {
        return Err(MigrateError::Newer(unknown.join(", ")));
    }
    if let Some(changed) = files.iter().find(|it| recorded.get(it.name).is_some_and(|sum| *sum != checksum(it.sql))) {
        return Err(MigrateError::Changed(changed.name.to_owned()));
    }
    Ok(files.iter().filter(|it| !recorded.contains_key(it.name)).copied().collect())
}

async fn recorded(connection: &mut PgConnection) -> Result<BTreeMap<String, String>, sqlx::Error> {
    const READ: &str = "SELECT name, checksum FROM basalt.migrations";
    let rows = sqlx::raw_sql(AssertSqlSafe(READ)).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Runs one file, unless another server has just done so.
async fn apply(connection: &mut PgConnection, file: File) -> Result<bool, MigrateError> {
    const PLACE: &str = "
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
    lock(&mut transaction).await?;
    run(&mut transaction, PLACE.to_owned())
        .await
        .during("making schema basalt, which takes the right to create in this database")?;
    let already = recorded(&mut transaction).await.during("reading the versions of schema basalt")?;
    if pending(&[file], &only(file, already))?.is_empty() {
        return Ok(false);
    }
    run(&mut transaction, file.sql.to_owned()).await.during("running a file of schema basalt")?;
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

fn only(file: File, mut recorded: BTreeMap<String, String>) -> BTreeMap<String, String> {
    recorded.retain(|name, _| name == file.name);
    recorded
}

fn checksum(sql: &str) -> String {
    use std::fmt::Write as _;
    let sum = digest::digest(&digest::SHA256, sql.as_bytes());
    sum.as_ref().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a String takes every write
        text
    })
}
