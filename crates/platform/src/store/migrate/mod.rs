//! Brings a database to schema `basalt` and to the migrations of a project.
//!
//! Runs at start, before the first request.
//!
//! Its statements are DDL and therefore not named statements; the SQL is in `sql/`.

mod basalt;
mod compatibility;
mod databases;
mod project;
mod roles;
mod script;
mod words;

pub use basalt::{FILES, checksum, migrate_basalt, run_files};
pub use compatibility::{MigrationFile, MigrationStep, check_files};
pub use databases::{DatabaseAdministrator, DatabaseName};
pub use project::{
    AppliedFiles, ApplyOptions, ExtensionReport, ExtensionState, Installation, OlderMigrations, PackageManager,
    ProjectExtension, ProjectFile, ProjectFileError, ProjectMigration, ProjectSchema, SkippedBefore, SkippedStatement,
    TargetDatabase, apply_project, concatenate_files, inspect_extensions, list_needed_extensions, list_pending,
    prepare_project_database, read_project_versions, read_skipped_statements, record_applied,
};
pub use roles::{ROLES, create_roles};
pub use script::{ScriptStatement, split_script};
pub use words::{CreatedObject, find_created_object};

use sqlx::{AssertSqlSafe, PgConnection};

/// The advisory lock of all migrations: "basalt" in ASCII.
pub const ADVISORY_LOCK: i64 = 0x6261_7361_6c74;

/// Why a migration failed. The failed step changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// A file was changed after it ran.
    #[error(
        "sql/basalt/{0} was changed after it ran on this database; put it back as it was and make the change in a new file"
    )]
    ChangedFile(String),

    /// A later version of this server changed the database so that this one does not work with it.
    #[error(
        "schema basalt was changed by a newer server in a way that this one does not work with ({names}): it needs a \
         server with the migrations up to {required:04}, and this one has those up to {known:04}; nothing was changed. \
         Start the newer server, or restore a backup from before its start"
    )]
    NewerVersions {
        /// The files, separated by commas.
        names: String,
        /// The number of this server's last file.
        known: u32,
        /// The number of the file that a server must have.
        required: u32,
    },

    /// A statement of a project failed in a database of an operator.
    #[error("{path}:{line}: {reason}. The file is not recorded as applied, and no later one ran")]
    ProjectStatement {
        /// The path of the file from the project's root.
        path: String,
        /// The line of the failure.
        line: usize,
        /// The database's message.
        reason: String,
    },

    /// The database returned an error, or the connection was lost.
    #[error("{doing}: {cause}")]
    Database {
        /// The failed operation.
        doing: &'static str,
        /// The error of the database.
        #[source]
        cause: sqlx::Error,
    },
}

/// Adds the attempted operation to a database error.
pub trait ErrorContext<T> {
    /// Names the operation that failed.
    ///
    /// # Errors
    ///
    /// Fails if the operation did.
    fn during(self, doing: &'static str) -> Result<T, MigrateError>;
}

impl<T> ErrorContext<T> for Result<T, sqlx::Error> {
    fn during(self, doing: &'static str) -> Result<T, MigrateError> {
        self.map_err(|cause| MigrateError::Database { doing, cause })
    }
}

/// Whether the error is that of a missing table.
fn is_undefined_table(error: &sqlx::Error) -> bool {
    const UNDEFINED_TABLE: &str = "42P01";
    error.as_database_error().is_some_and(|database_error| database_error.code().as_deref() == Some(UNDEFINED_TABLE))
}

/// Runs several statements at once.
///
/// The text consists of files of `sql/` and names from [`super::quoting::quote_identifier`].
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
