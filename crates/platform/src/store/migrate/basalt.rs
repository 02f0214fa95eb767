//! Schema `basalt`: this server's own tables, in numbered files that run once each.

use std::collections::BTreeMap;

use aws_lc_rs::digest;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use super::compatibility::{MigrationFile, MigrationStep, compatible_since, parse_number};
use super::error::{ErrorContext, MigrateError, is_undefined_table};
use super::session::{lock_migrations, run_script};
use crate::store::acquire_connection;

/// A row of the journal.
struct RecordedFile {
    checksum: String,
    /// The number that a server must know to work with the result; `None` if it was not recorded.
    compatible_since: Option<u32>,
}

/// The journal, by file name.
type Journal = BTreeMap<String, RecordedFile>;

/// All files of `sql/basalt`.
pub const FILES: &[MigrationFile] = &[
    MigrationFile {
        name: "0001-submissions-and-outbox.sql",
        sql: include_str!("../../../../../sql/basalt/0001-submissions-and-outbox.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0002-saml-assertions.sql",
        sql: include_str!("../../../../../sql/basalt/0002-saml-assertions.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0003-exchanged-codes.sql",
        sql: include_str!("../../../../../sql/basalt/0003-exchanged-codes.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0004-decoys.sql",
        sql: include_str!("../../../../../sql/basalt/0004-decoys.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0005-owner-notices.sql",
        sql: include_str!("../../../../../sql/basalt/0005-owner-notices.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0006-kept-messages.sql",
        sql: include_str!("../../../../../sql/basalt/0006-kept-messages.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0007-replicas-and-leases.sql",
        sql: include_str!("../../../../../sql/basalt/0007-replicas-and-leases.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0008-limit-counters.sql",
        sql: include_str!("../../../../../sql/basalt/0008-limit-counters.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0009-key-sets.sql",
        sql: include_str!("../../../../../sql/basalt/0009-key-sets.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0010-submission-templates.sql",
        sql: include_str!("../../../../../sql/basalt/0010-submission-templates.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0011-orders.sql",
        sql: include_str!("../../../../../sql/basalt/0011-orders.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0012-desk.sql",
        sql: include_str!("../../../../../sql/basalt/0012-desk.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0013-submission-handling.sql",
        sql: include_str!("../../../../../sql/basalt/0013-submission-handling.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0014-desk-recovery.sql",
        sql: include_str!("../../../../../sql/basalt/0014-desk-recovery.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0015-receipts.sql",
        sql: include_str!("../../../../../sql/basalt/0015-receipts.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0016-checkouts-and-held-payments.sql",
        sql: include_str!("../../../../../sql/basalt/0016-checkouts-and-held-payments.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0017-desk-devices.sql",
        sql: include_str!("../../../../../sql/basalt/0017-desk-devices.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0018-catalogue.sql",
        sql: include_str!("../../../../../sql/basalt/0018-catalogue.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0019-desk-recovery-codes-kept.sql",
        sql: include_str!("../../../../../sql/basalt/0019-desk-recovery-codes-kept.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0020-shop-files.sql",
        sql: include_str!("../../../../../sql/basalt/0020-shop-files.sql"),
        step: MigrationStep::Expand,
    },
    MigrationFile {
        name: "0021-order-quantities.sql",
        sql: include_str!("../../../../../sql/basalt/0021-order-quantities.sql"),
        step: MigrationStep::Expand,
    },
];

/// Creates schema `basalt` and runs its missing files, each in its own transaction; returns what ran.
///
/// One query if nothing is missing. Refuses a file that changed after it ran, and a change by a later server that this
/// one does not work with.
pub async fn migrate_basalt(pool: &PgPool) -> Result<Vec<&'static str>, MigrateError> {
    run_files(pool, FILES).await
}

/// Runs [`migrate_basalt`] with the given files.
pub async fn run_files(pool: &PgPool, files: &[MigrationFile]) -> Result<Vec<&'static str>, MigrateError> {
    let mut connection = acquire_connection(pool).await.during("connecting to the database")?;
    let pending = match read_journal(&mut connection).await {
        Ok(recorded) => {
            accept_unknown(files, &recorded)?;
            find_pending(files, &recorded)?
        }
        Err(error) if is_undefined_table(&error) => files.to_vec(),
        Err(cause) => return Err(MigrateError::Database { doing: "reading the versions of schema basalt", cause }),
    };
    let mut ran = Vec::new();
    for file in pending {
        if run_file(&mut connection, file, compatible_since(files, &file)).await? {
            ran.push(file.name);
        }
    }
    Ok(ran)
}

/// Accepts files of a later server if this one works with their result.
fn accept_unknown(files: &[MigrationFile], recorded: &Journal) -> Result<(), MigrateError> {
    let known = files.iter().map(MigrationFile::number).max().unwrap_or_default();
    let unknown: Vec<(&String, &RecordedFile)> =
        recorded.iter().filter(|(name, _)| files.iter().all(|file| file.name != *name)).collect();
    let is_compatible = |file: &RecordedFile| file.compatible_since.is_some_and(|since| since <= known);
    let refused: Vec<&str> =
        unknown.iter().filter(|(_, file)| !is_compatible(file)).map(|(name, _)| name.as_str()).collect();
    if !refused.is_empty() {
        let required = |(name, file): &(&String, &RecordedFile)| file.compatible_since.unwrap_or(parse_number(name));
        let required = unknown.iter().map(required).max().unwrap_or_default();
        return Err(MigrateError::NewerVersions { names: refused.join(", "), known, required });
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
        tracing::info!(files = names.join(", "), "a newer server has migrated schema basalt, compatibly");
    }
    Ok(())
}

/// Returns the files that have not run yet, after checking that the others are unchanged.
fn find_pending(files: &[MigrationFile], recorded: &Journal) -> Result<Vec<MigrationFile>, MigrateError> {
    let is_changed =
        |file: &&MigrationFile| recorded.get(file.name).is_some_and(|row| row.checksum != checksum(file.sql));
    if let Some(changed) = files.iter().find(is_changed) {
        return Err(MigrateError::ChangedFile(changed.name.to_owned()));
    }
    Ok(files.iter().filter(|file| !recorded.contains_key(file.name)).copied().collect())
}

/// Reads the journal; an older server creates it without the column `compatible_since`.
async fn read_journal(connection: &mut PgConnection) -> Result<Journal, sqlx::Error> {
    const READ: &str = "
        SELECT m.name, m.checksum, (to_jsonb(m) ->> 'compatible_since')::integer AS compatible_since
        FROM basalt.migrations m";
    let rows = sqlx::raw_sql(AssertSqlSafe(READ)).fetch_all(connection).await?;
    let read_row = |row: &sqlx::postgres::PgRow| {
        let since: Option<i32> = row.try_get(2)?;
        let compatible_since = since.and_then(|since| since.try_into().ok());
        Ok((row.try_get(0)?, RecordedFile { checksum: row.try_get(1)?, compatible_since }))
    };
    rows.iter().map(read_row).collect()
}

/// Runs one file, unless another server has just run it.
async fn run_file(
    connection: &mut PgConnection,
    file: MigrationFile,
    compatible_since: u32,
) -> Result<bool, MigrateError> {
    const CREATE_SCHEMA: &str = "
        SET LOCAL statement_timeout = 0;
        SET LOCAL search_path = basalt;
        SET LOCAL client_min_messages = warning;
        CREATE SCHEMA IF NOT EXISTS basalt;
        CREATE TABLE IF NOT EXISTS basalt.migrations (
            name       text PRIMARY KEY,
            checksum   text NOT NULL, -- SHA-256 of the file, in hexadecimal
            applied_at timestamptz NOT NULL DEFAULT now()
        );
        -- The number of a file: servers that have it work with the result of this one.
        ALTER TABLE basalt.migrations ADD COLUMN IF NOT EXISTS compatible_since integer;";
    let mut transaction = sqlx::Connection::begin(connection).await.during("beginning the transaction")?;
    lock_migrations(&mut transaction).await?;
    run_script(&mut transaction, CREATE_SCHEMA.to_owned())
        .await
        .during("creating schema basalt, which requires the CREATE privilege on this database")?;
    let already = read_journal(&mut transaction).await.during("reading the versions of schema basalt")?;
    if find_pending(&[file], &already)?.is_empty() {
        return Ok(false);
    }
    run_script(&mut transaction, file.sql.to_owned()).await.during("running a file of schema basalt")?;
    sqlx::query("INSERT INTO basalt.migrations (name, checksum, compatible_since) VALUES ($1, $2, $3)")
        .persistent(false)
        .bind(file.name)
        .bind(checksum(file.sql))
        .bind(i32::try_from(compatible_since).unwrap_or(i32::MAX))
        .execute(&mut *transaction)
        .await
        .during("recording a file of schema basalt")?;
    transaction.commit().await.during("committing a file of schema basalt")?;
    Ok(true)
}

/// Returns the SHA-256 digest of a text in hexadecimal digits.
pub fn checksum(sql: &str) -> String {
    hex::encode(digest::digest(&digest::SHA256, sql.as_bytes()).as_ref())
}
