//! Why a migration failed.

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
pub(super) fn is_undefined_table(error: &sqlx::Error) -> bool {
    const UNDEFINED_TABLE: &str = "42P01";
    error.as_database_error().is_some_and(|database_error| database_error.code().as_deref() == Some(UNDEFINED_TABLE))
}
