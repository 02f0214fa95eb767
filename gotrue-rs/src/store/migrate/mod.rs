//! Brings a database to the schemas that this server works with.
//!
//! Runs at start, before the first request.
//!
//! Its statements are DDL and therefore not named statements; the SQL is in `sql/`.

mod auth;
mod basalt;
mod compatibility;
mod databases;
mod index_lock;
mod indexes;
mod project;
mod recovery_codes;
mod roles;
mod script;
pub mod shape;
mod words;

pub use auth::{AuthSchemaOutcome, compare_auth_versions, migrate_auth, read_shape};
pub use basalt::{FILES, migrate_basalt, run_files};
pub use compatibility::{MigrationFile, MigrationStep, check_files};
pub use databases::{DatabaseAdministrator, DatabaseName};
pub use indexes::{IndexOutcome, create_indexes};
pub use project::{
    AppliedFiles, ApplyOptions, OlderMigrations, ProjectFile, ProjectFileError, ProjectMigration, ProjectSchema,
    SkippedBefore, SkippedStatement, TargetDatabase, apply_project, list_needed_extensions, prepare_project_database,
    read_project_versions, read_skipped_statements,
};
pub use recovery_codes::{RecoveryCodesOutcome, has_recovery_codes, migrate_recovery_codes};
pub use roles::create_roles;
pub use script::{ScriptStatement, split_script};
pub use words::{CreatedObject, find_created_object};

use self::shape::{ShapeMisfits, join_shortened};
use sqlx::{AssertSqlSafe, PgConnection};

/// The advisory lock of all migrations: "basalt" in ASCII.
pub const ADVISORY_LOCK: i64 = 0x6261_7361_6c74;

/// Returns 16 hexadecimal digits that identify the SQL of roles and schemas.
pub fn schema_fingerprint() -> String {
    let additions = [&auth::VERSIONS, &recovery_codes::TABLES, &roles::ROLES];
    let roles_and_auth = auth::FILES.iter().chain(additions).copied();
    let sql: Vec<&str> = roles_and_auth.chain(FILES.iter().map(|file| file.sql)).collect();
    let mut digits = basalt::checksum(&(sql.concat() + &project::concatenate_files()));
    digits.truncate(16);
    digits
}

/// Why a migration failed. The failed step changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The configured name is not a valid schema name.
    #[error("{0:?} is not a valid schema name: DB_NAMESPACE takes 1 to 63 bytes, for example auth")]
    Namespace(String),

    /// The schema lacks what statements need, or needs what they do not do.
    #[error("{0}")]
    Schema(Box<SchemaDifference>),

    /// The schema grants rights to a role that does not exist.
    #[error(
        "the role postgres is missing, which may read the tables of schema {namespace}; make it with: \
         CREATE ROLE postgres NOLOGIN"
    )]
    NoReader {
        /// The schema to be created.
        namespace: String,
    },

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

    /// Some indexes could not be created; the log has the cause of each.
    #[error("these indexes could not be made and are tried again at the next start: {0}")]
    Indexes(String),

    /// The lease of the index worker could not be read or written.
    #[error("acquiring the lease of the index worker")]
    Lease(#[source] super::Error),

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

/// Why a schema `auth` cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaDifference {
    /// The schema's name.
    pub namespace: String,
    /// What it lacks or needs.
    pub misfits: ShapeMisfits,
    /// Expected versions that are not recorded, ascending.
    pub missing: Vec<String>,
    /// Recorded versions that are unknown, ascending.
    pub unknown: Vec<String>,
}

impl std::fmt::Display for SchemaDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let misfits = self.misfits.describe().join("; ");
        write!(f, "schema {} cannot be served: {misfits}. Nothing was changed.", self.namespace)?;
        if !self.missing.is_empty() {
            let (count, names) = (self.missing.len(), join_shortened(&self.missing));
            write!(
                f,
                " {count} of its migrations are not recorded ({names}): bring it up with the command of Supabase Auth \
                 v2.196.0, `auth migrate`, on this database, then start again."
            )?;
        }
        if !self.unknown.is_empty() {
            let (count, names) = (self.unknown.len(), join_shortened(&self.unknown));
            write!(f, " {count} are of a newer Supabase Auth ({names}): start a Basalt that knows them.")?;
        }
        Ok(())
    }
}

/// Adds the attempted operation to a database error.
trait ErrorContext<T> {
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
    error.as_database_error().is_some_and(|it| it.code().as_deref() == Some(UNDEFINED_TABLE))
}

/// Runs several statements at once.
///
/// The text consists of files of `sql/` and names from [`super::quoting::quote_identifier`].
async fn run_script(connection: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
}

/// Takes the lock of all migrations until the transaction ends.
///
/// It serializes servers that start at the same time.
async fn lock_migrations(transaction: &mut PgConnection) -> Result<(), MigrateError> {
    // Not prepared: a pooler would leave the prepared statement to other clients.
    let wait = "SET LOCAL lock_timeout = '10s'";
    let sql = format!("{wait}; SELECT pg_advisory_xact_lock({ADVISORY_LOCK}); SET LOCAL lock_timeout TO DEFAULT");
    run_script(transaction, sql).await.during("acquiring the lock of migrations")
}
