//! Why schema `auth` cannot be served.

use platform::store::migrate::MigrateError;

use super::shape::{ShapeMisfits, join_shortened};

/// Why schema `auth` cannot be served. The failed step changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum AuthMigrateError {
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

    /// Some indexes could not be created; the log has the cause of each.
    #[error("these indexes could not be made and are tried again at the next start: {0}")]
    Indexes(String),

    /// The lease of the index worker could not be read or written.
    #[error("acquiring the lease of the index worker")]
    Lease(#[source] platform::store::Error),

    /// A statement failed.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
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
