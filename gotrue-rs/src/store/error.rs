//! What the database may answer instead of rows, and how it becomes a refusal.

use gotrue_rules::domain::error as refusal;
use gotrue_rules::domain::error::{DatabaseError, Kind, Text};
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// The result of a statement.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed statement.
#[derive(Debug, thiserror::Error)]
#[error("{statement}: {cause}")]
pub struct Error {
    statement: &'static str,
    /// The failure came before the statement: no connection could be had.
    is_connecting: bool,
    /// A client may see the database's own text where the legacy API version shows it.
    is_shown: bool,
    #[source]
    cause: sqlx::Error,
}

/// The statement that calls a function of the operator.
pub(super) const HOOK: &str = "hooks.call";

/// The SQLSTATEs that the legacy API version shows as they are (`endpoints.md` §1.4), besides `PTxxx`.
const SHOWN: [&str; 8] = ["P0001", "23000", "23001", "23502", "23503", "23505", "23514", "23P01"];

impl Error {
    pub(super) fn in_statement(statement: &'static str, cause: sqlx::Error) -> Self {
        Self { statement, is_connecting: false, is_shown: true, cause }
    }

    pub(super) fn connecting(statement: &'static str, cause: sqlx::Error) -> Self {
        Self { is_connecting: true, ..Self::in_statement(statement, cause) }
    }

    /// The same without the database's own text for clients. What a function of the operator raises is meant for them.
    pub(super) fn hidden(self) -> Self {
        Self { is_shown: self.statement == HOOK, ..self }
    }

    /// Whether the database cannot be used at the moment: down, unreachable, exhausted, silent or read-only.
    pub fn is_unavailable(&self) -> bool {
        self.is_connecting
            || ends_session(&self.cause)
            // A function of the operator may raise any code.
            || (self.statement != HOOK && self.sqlstate().is_some_and(|code| is_transient(&code)))
    }

    /// The name of the violated constraint, if that is what happened.
    pub fn constraint(&self) -> Option<&str> {
        self.cause.as_database_error()?.constraint()
    }

    /// The SQLSTATE, if the database answered with one.
    pub fn sqlstate(&self) -> Option<String> {
        self.cause.as_database_error()?.code().map(std::borrow::Cow::into_owned)
    }

    /// The database's own words, if it answered at all.
    pub fn words(&self) -> Option<&str> {
        self.cause.as_database_error().map(sqlx::error::DatabaseError::message)
    }

    /// Whether the statement ran into its time limit.
    pub fn is_timeout(&self) -> bool {
        self.sqlstate().as_deref() == Some("57014")
    }

    /// The 500 with `message`, which shows the database's own error where the legacy API version does.
    pub fn wrapped(self, message: impl Into<Text>) -> refusal::Error {
        let message = message.into();
        if self.is_unavailable() {
            return self.unavailable();
        }
        match self.shown(&message) {
            Some(kind) => refusal::Error::new(kind).because(self),
            None => refusal::Error::internal(message).because(self),
        }
    }

    /// The 503 of a database that cannot be used at the moment.
    fn unavailable(self) -> refusal::Error {
        refusal::Error::database_unavailable().because(self)
    }

    fn shown(&self, wrapped: &Text) -> Option<Kind> {
        let error = self.cause.as_database_error().filter(|_| self.is_shown)?;
        let sqlstate = error.code()?;
        let status = match sqlstate.strip_prefix("PT").map(str::parse::<u16>) {
            Some(Ok(status)) if (200..1000).contains(&status) => status,
            _ if SHOWN.contains(&&*sqlstate) => 500,
            _ => return None,
        };
        let details = error.try_downcast_ref::<PgDatabaseError>();
        Some(Kind::Postgres(Box::new(DatabaseError {
            status,
            sqlstate: sqlstate.into_owned(),
            message: error.message().to_owned(),
            hint: details.and_then(|it| it.hint()).map(str::to_owned),
            detail: details.and_then(|it| it.detail()).map(str::to_owned),
            wrapped: wrapped.clone(),
        })))
    }
}

impl From<Error> for refusal::Error {
    fn from(error: Error) -> Self {
        if error.is_unavailable() { error.unavailable() } else { Self::other(error) }
    }
}

/// Whether a connection is of no more use after this error: the session is over, its state is not known, or its server
/// takes no writes any more.
pub(super) fn ends_session(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => {
            let details = error.try_downcast_ref::<PgDatabaseError>();
            let is_fatal = details.is_some_and(|it| matches!(it.severity(), PgSeverity::Fatal | PgSeverity::Panic));
            let code = error.code().unwrap_or_default();
            is_fatal || code.starts_with("08") || code == READ_ONLY || code.starts_with("57P")
        }
        // Made of what was received, or of what was to be sent: the session goes on.
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

/// `read_only_sql_transaction`: a standby, or a primary that was demoted.
const READ_ONLY: &str = "25006";

/// Whether the same statement may succeed a moment later: the server lacks resources (class 53), or gave up this
/// transaction in favour of another (`serialization_failure`, `deadlock_detected`, `lock_not_available`).
fn is_transient(sqlstate: &str) -> bool {
    sqlstate.starts_with("53") || matches!(sqlstate, "40001" | "40P01" | "55P03")
}

/// Gives a failed statement the message that its flow has for it.
pub trait OrRefuse<T> {
    /// The value, or the 500 with `message`; see [`Error::wrapped`].
    fn or_refuse(self, message: &'static str) -> refusal::Result<T>;
}

impl<T> OrRefuse<T> for Result<T> {
    fn or_refuse(self, message: &'static str) -> refusal::Result<T> {
        self.map_err(|error| error.wrapped(message))
    }
}
