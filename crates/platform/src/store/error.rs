//! Database errors and their conversion to API errors.

use foundation::error as refusal;
use foundation::error::{DatabaseError, ErrorKind, PublicText};
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// The result of a statement.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed statement.
#[derive(Debug, thiserror::Error)]
#[error("{statement}: {cause}")]
pub struct Error {
    statement: &'static str,
    /// No connection could be acquired, so the statement was not sent.
    is_connecting: bool,
    /// A client may see the database's message where the legacy API version exposes it.
    is_exposed: bool,
    #[source]
    cause: sqlx::Error,
}

/// The statement that calls a Postgres hook function.
pub const HOOK_CALL: &str = "hooks.call";

/// SQLSTATEs that the legacy API version exposes unchanged, besides `PTxxx`.
const EXPOSED_SQLSTATES: [&str; 8] = ["P0001", "23000", "23001", "23502", "23503", "23505", "23514", "23P01"];

impl Error {
    /// Creates the failure of a statement.
    pub fn in_statement(statement: &'static str, cause: sqlx::Error) -> Self {
        Self { statement, is_connecting: false, is_exposed: true, cause }
    }

    pub(super) fn connecting(statement: &'static str, cause: sqlx::Error) -> Self {
        Self { is_connecting: true, ..Self::in_statement(statement, cause) }
    }

    /// The error without the database's message for clients.
    ///
    /// Messages raised by Postgres hook functions are meant for clients and stay.
    pub(super) fn without_database_text(self) -> Self {
        Self { is_exposed: self.statement == HOOK_CALL, ..self }
    }

    /// Whether the database is currently unusable: down, unreachable, exhausted, silent or read-only.
    pub fn is_unavailable(&self) -> bool {
        self.is_connecting
            || ends_session(&self.cause)
            // A Postgres hook function may raise any code.
            || (self.statement != HOOK_CALL && self.sqlstate().is_some_and(|code| is_transient(&code)))
    }

    /// Why the database is unusable, as a label of metrics; `None` if it is usable.
    pub(super) fn unavailable_reason(&self) -> Option<&'static str> {
        self.is_unavailable().then(|| reason_of(&self.cause, self.is_connecting))
    }

    /// The name of the violated constraint, if a constraint was violated.
    pub fn constraint(&self) -> Option<&str> {
        self.cause.as_database_error()?.constraint()
    }

    /// The SQLSTATE, if the database returned one.
    pub fn sqlstate(&self) -> Option<String> {
        self.cause.as_database_error()?.code().map(std::borrow::Cow::into_owned)
    }

    /// The database's error message, if it returned one.
    pub fn database_message(&self) -> Option<&str> {
        self.cause.as_database_error().map(sqlx::error::DatabaseError::message)
    }

    /// Whether the statement exceeded its time limit.
    pub fn is_timeout(&self) -> bool {
        self.sqlstate().as_deref() == Some("57014")
    }

    /// Converts to a 500 with `message`.
    ///
    /// The database's error is exposed where the legacy API version exposes it.
    pub fn into_internal_error(self, message: impl Into<PublicText>) -> refusal::Error {
        let message = message.into();
        if self.is_unavailable() {
            return self.into_unavailable();
        }
        match self.to_exposed_error(&message) {
            Some(kind) => refusal::Error::from_kind(kind).with_cause(self),
            None => refusal::Error::internal(message).with_cause(self),
        }
    }

    /// Converts to the 503 of an unusable database.
    fn into_unavailable(self) -> refusal::Error {
        refusal::Error::database_unavailable().with_cause(self)
    }

    fn to_exposed_error(&self, wrapped: &PublicText) -> Option<ErrorKind> {
        let error = self.cause.as_database_error().filter(|_| self.is_exposed)?;
        let sqlstate = error.code()?;
        let status = match sqlstate.strip_prefix("PT").map(str::parse::<u16>) {
            Some(Ok(status)) if (200..1000).contains(&status) => status,
            _ if EXPOSED_SQLSTATES.contains(&&*sqlstate) => 500,
            _ => return None,
        };
        let details = error.try_downcast_ref::<PgDatabaseError>();
        Some(ErrorKind::Postgres(Box::new(DatabaseError {
            status,
            sqlstate: sqlstate.into_owned(),
            message: error.message().to_owned(),
            hint: details.and_then(|details| details.hint()).map(str::to_owned),
            detail: details.and_then(|details| details.detail()).map(str::to_owned),
            wrapped: wrapped.clone(),
        })))
    }
}

impl From<Error> for refusal::Error {
    fn from(error: Error) -> Self {
        if error.is_unavailable() { error.into_unavailable() } else { Self::other(error) }
    }
}

/// Why the database is unusable, as a label of metrics.
pub(super) fn reason_of(cause: &sqlx::Error, is_connecting: bool) -> &'static str {
    let sqlstate = cause.as_database_error().and_then(sqlx::error::DatabaseError::code).unwrap_or_default();
    match cause {
        sqlx::Error::PoolTimedOut => "pool_exhausted",
        sqlx::Error::PoolClosed => "shutdown",
        sqlx::Error::Database(_) if sqlstate == READ_ONLY => "read_only",
        sqlx::Error::Database(_) if sqlstate == DISK_FULL => "disk_full",
        sqlx::Error::Database(_) if sqlstate.starts_with("53") => "server_overloaded",
        sqlx::Error::Database(_) if sqlstate.starts_with("57P") => "server_stopping",
        sqlx::Error::Database(_) if is_transient(&sqlstate) => "transaction_aborted",
        _ if is_timeout(cause) && is_connecting => "connect_timeout",
        _ if is_timeout(cause) => "statement_timeout",
        _ if is_connecting => "connect",
        _ => "connection_lost",
    }
}

fn is_timeout(cause: &sqlx::Error) -> bool {
    matches!(cause, sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut)
}

/// Whether a connection must be closed after this error.
///
/// That is the case if the session is over, its state is unknown, or its server no longer accepts writes.
pub(super) fn ends_session(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => {
            let details = error.try_downcast_ref::<PgDatabaseError>();
            let is_fatal =
                details.is_some_and(|details| matches!(details.severity(), PgSeverity::Fatal | PgSeverity::Panic));
            let code = error.code().unwrap_or_default();
            is_fatal || code.starts_with("08") || code == READ_ONLY || code.starts_with("57P")
        }
        // Local encoding or decoding errors: the session stays usable.
        sqlx::Error::Decode(_)
        | sqlx::Error::Encode(_)
        | sqlx::Error::AnyDriverError(_)
        | sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnIndexOutOfBounds { .. }
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::RowNotFound
        | sqlx::Error::TypeNotFound { .. } => false,
        _ => true,
    }
}

/// Whether a statement was refused because an earlier one of its transaction had failed.
pub(super) fn is_of_failed_transaction(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("25P02"))
}

/// Whether the session ended, other than by a time limit: another one may succeed at once.
pub(super) fn is_session_lost(error: &sqlx::Error) -> bool {
    let is_of_session = matches!(error, sqlx::Error::Database(_) | sqlx::Error::Io(_) | sqlx::Error::Protocol(_));
    is_of_session && !is_timeout(error) && ends_session(error)
}

/// `read_only_sql_transaction`: a standby, or a demoted primary.
const READ_ONLY: &str = "25006";

/// `disk_full`: no write is possible until the operator makes room.
const DISK_FULL: &str = "53100";

/// Whether a session refused a write because it is read-only.
pub(super) fn is_read_only(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).is_some_and(|code| code == READ_ONLY)
}

/// Whether a pooler without a connection to the database refused a statement.
///
/// The statement was not passed on.
///
/// `PgBouncer` does so after a failed attempt to connect. The refusal makes it try again, at the earliest
/// `server_login_retry` after the last attempt. PostgreSQL has no such message.
pub(super) fn is_refused_by_pooler(error: &sqlx::Error) -> bool {
    let is_refusal = |error: &dyn sqlx::error::DatabaseError| {
        error.code().is_some_and(|code| code == PROTOCOL_VIOLATION) && error.message().starts_with(LOGIN_FAILING)
    };
    error.as_database_error().is_some_and(is_refusal)
}

/// `protocol_violation`: the code of the errors of `PgBouncer`.
const PROTOCOL_VIOLATION: &str = "08P01";

/// The beginning of the message of `PgBouncer` while it has no connection to the database.
const LOGIN_FAILING: &str = "server login has been failing";

/// Whether the same statement may succeed shortly afterwards.
///
/// The server lacks resources (class 53), or aborted this transaction in favour of another (`serialization_failure`,
/// `deadlock_detected`, `lock_not_available`).
fn is_transient(sqlstate: &str) -> bool {
    sqlstate.starts_with("53") || matches!(sqlstate, "40001" | "40P01" | "55P03")
}

/// Adds the API message of the current operation to a failed statement.
pub trait OrInternalError<T> {
    /// Returns the value, or the 500 with `message`; see [`Error::into_internal_error`].
    ///
    /// # Errors
    /// The statement failed.
    fn or_internal_error(self, message: &'static str) -> refusal::Result<T>;
}

impl<T> OrInternalError<T> for Result<T> {
    fn or_internal_error(self, message: &'static str) -> refusal::Result<T> {
        self.map_err(|error| error.into_internal_error(message))
    }
}
