//! What the database may answer instead of rows, and how it becomes a refusal.

use gotrue_rules::domain::error as refusal;
use gotrue_rules::domain::error::{DatabaseError, Kind, Text};

/// The result of a statement.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed statement.
#[derive(Debug, thiserror::Error)]
#[error("{statement}: {cause}")]
pub struct Error {
    statement: &'static str,
    #[source]
    cause: sqlx::Error,
}

/// The SQLSTATEs that the legacy API version shows as they are (`endpoints.md` §1.4), besides `PTxxx`.
const SHOWN: [&str; 8] = ["P0001", "23000", "23001", "23502", "23503", "23505", "23514", "23P01"];

impl Error {
    pub(super) fn in_statement(statement: &'static str, cause: sqlx::Error) -> Self {
        Self { statement, cause }
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
        match self.shown(&message) {
            Some(kind) => refusal::Error::new(kind).because(self),
            None => refusal::Error::internal(message).because(self),
        }
    }

    fn shown(&self, wrapped: &Text) -> Option<Kind> {
        let error = self.cause.as_database_error()?;
        let sqlstate = error.code()?;
        let status = match sqlstate.strip_prefix("PT").map(str::parse::<u16>) {
            Some(Ok(status)) if (200..600).contains(&status) => status,
            _ if SHOWN.contains(&&*sqlstate) => 500,
            _ => return None,
        };
        let details = error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>();
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

impl From<sqlx::Error> for Error {
    fn from(cause: sqlx::Error) -> Self {
        Self { statement: "connection", cause }
    }
}

impl From<Error> for refusal::Error {
    fn from(error: Error) -> Self {
        Self::other(error)
    }
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
