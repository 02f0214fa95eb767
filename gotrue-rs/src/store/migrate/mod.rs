//! Brings a database to the schemas this server works with. Statements here are DDL, so they are the one exception to named
//! statements; the SQL itself stands in `sql/`. Run at start, before the first request.

mod auth;
mod basalt;
mod indexes;
mod roles;

pub use auth::{Migrated, auth};
pub use basalt::{FILES, File, basalt, files};
pub use indexes::{Indexes, indexes};
pub use roles::roles;

use sqlx::{AssertSqlSafe, PgConnection};

/// The advisory lock of all migrations: "basalt" in ASCII.
pub const LOCK: i64 = 0x6261_7361_6c74;

/// Why a schema was not brought up. Nothing was changed by the step that failed.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The configured name cannot name a schema.
    #[error("{0:?} cannot name a schema: DB_NAMESPACE takes 1 to 63 bytes, for example auth")]
    Namespace(String),

    /// The schema holds other versions than ours.
    #[error("{0}")]
    Versions(Box<Difference>),

    /// The schema grants rights to a role that the database does not have.
    #[error(
        "the role postgres is missing, which may read the tables of schema {namespace}; make it with: \
         CREATE ROLE postgres NOLOGIN"
    )]
    NoReader {
        /// The schema that was to be created.
        namespace: String,
    },

    /// A file that ran once reads differently now.
    #[error(
        "sql/basalt/{0} was changed after it ran on this database; put it back as it was and make the change in a new file"
    )]
    Changed(String),

    /// The database was brought up by a later version of this server.
    #[error("schema basalt holds versions this server does not know ({0}); start the newer server that made them")]
    Newer(String),

    /// Some indexes could not be made; the log has the cause of each.
    #[error("these indexes could not be made and are tried again at the next start: {0}")]
    Indexes(String),

    /// The database refused or was lost.
    #[error("{doing}: {cause}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// What the database said.
        #[source]
        cause: sqlx::Error,
    },
}

/// How the recorded versions of schema `auth` differ from the ones this server works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The schema's name.
    pub namespace: String,
    /// Ours that are not recorded, ascending.
    pub missing: Vec<String>,
    /// Recorded ones that we do not know, ascending.
    pub unknown: Vec<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "schema {} is not at the version this server works with:", self.namespace)?;
        if !self.missing.is_empty() {
            write!(f, " {} missing ({});", self.missing.len(), shortened(&self.missing))?;
        }
        if !self.unknown.is_empty() {
            write!(f, " {} unknown ({});", self.unknown.len(), shortened(&self.unknown))?;
        }
        write!(f, " nothing was changed.")?;
        if !self.missing.is_empty() {
            write!(
                f,
                " Bring it up with the command of Supabase Auth v2.196.0, `auth migrate`, on this database, then start again."
            )?;
        }
        if !self.unknown.is_empty() {
            write!(f, " Unknown versions come from a newer Supabase Auth: start a Basalt that knows them.")?;
        }
        Ok(())
    }
}

/// At most eight of a list: its beginning and its last.
fn shortened(names: &[String]) -> String {
    match names {
        [first @ .., last] if names.len() > 8 => format!("{}, … {last}", first[..6].join(", ")),
        all => all.join(", "),
    }
}

/// Says what was being done when the database refused.
trait While<T> {
    fn during(self, doing: &'static str) -> Result<T, MigrateError>;
}

impl<T> While<T> for Result<T, sqlx::Error> {
    fn during(self, doing: &'static str) -> Result<T, MigrateError> {
        self.map_err(|cause| MigrateError::Database { doing, cause })
    }
}

/// Whether a table that was asked for does not exist.
fn is_no_such_table(error: &sqlx::Error) -> bool {
    const UNDEFINED_TABLE: &str = "42P01";
    error.as_database_error().is_some_and(|it| it.code().as_deref() == Some(UNDEFINED_TABLE))
}

/// Runs several statements at once. The text is ours: files of `sql/` and names that went through [`quoted`].
async fn run(connection: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
}

/// Takes the lock of all migrations until the transaction ends: of several servers that start at once, one works.
async fn lock(transaction: &mut PgConnection) -> Result<(), MigrateError> {
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(transaction)
        .await
        .map(drop)
        .during("waiting for the lock of migrations")
}

/// A name as SQL takes it, whatever it is made of.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
