//! Errors of API requests, as data: each service renders them in the form of its API.
//!
//! The error code does not always determine the status, so both are stored.

mod code;
pub mod document;
mod oauth_code;
mod setting;

use std::borrow::Cow;
use std::fmt;

pub use self::code::{ErrorCode, ErrorCodeSection};
pub use self::oauth_code::OAuthErrorCode;
pub use self::setting::{SettingCause, setting_of_code};

/// Public text; never contains a secret, a code, an address or a SQL statement.
pub type PublicText = Cow<'static, str>;

/// The result of a fallible rule.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed request: the public part for the client and the cause for the log.
#[derive(Debug)]
pub struct Error {
    /// The public part.
    pub kind: ErrorKind,
    /// The internal cause; logged once, where the request is answered, and never sent.
    pub cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// Value of the `Retry-After` header, in seconds.
    pub retry_after: Option<u64>,
    /// Status and code of the error that wraps a database error, if they differ from a plain failure.
    pub wrapped_as: Option<WrappingError>,
}

/// Status and code of an error that wraps a database error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrappingError {
    /// The status, except in the legacy API version.
    pub status: u16,
    pub code: ErrorCode,
}

/// Which body an error has on the wire, with what it contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// An HTTP status with an error code and a message.
    Http {
        /// The status, 400–599 (a hook may name any).
        status: u16,
        /// The error code, if there is one.
        code: Option<ErrorCode>,
        /// The message, with GoTrue's exact wording.
        message: PublicText,
    },
    /// An OAuth error body, always status 400.
    OAuth {
        /// The `error` member.
        error: PublicText,
        /// The `error_description` member; left out when empty.
        description: PublicText,
    },
    /// A password that violates the current strength rules, status 422.
    WeakPassword {
        /// The messages of all reasons, joined by a space.
        message: String,
        /// The reasons, in the order of their declaration.
        reasons: Vec<WeakPasswordReason>,
    },
    /// An error raised by the database, which the legacy API version shows.
    Postgres(Box<DatabaseError>),
    /// A handler that failed, or that fails in GoTrue: 500 "Internal Server Error" without an error id.
    InternalServerError,
    /// Any other failure: 500 without an error id.
    Other,
}

/// Reasons for a weak password, in response order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WeakPasswordReason {
    /// Too short.
    Length,
    /// A required set of characters is missing.
    Characters,
    /// It is in a list of leaked passwords.
    Pwned,
}

impl WeakPasswordReason {
    /// Returns the word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Characters => "characters",
            Self::Pwned => "pwned",
        }
    }
}

/// A database error: SQLSTATE and texts, and the error of the other API version and of redirects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseError {
    /// The status: 500, or that of a `PTxxx` SQLSTATE.
    pub status: u16,
    /// The five characters of the SQLSTATE.
    pub sqlstate: String,
    /// The database's message.
    pub message: String,
    pub hint: Option<String>,
    pub detail: Option<String>,
    /// The message of the error it was wrapped in.
    pub wrapped: PublicText,
}

/// The message of [`ErrorKind::Other`].
pub const OTHER_MESSAGE: &str = "Unexpected failure, please check server logs for more information";

impl Error {
    /// Creates an error with the usual status of its code.
    pub fn new(code: ErrorCode, message: impl Into<PublicText>) -> Self {
        Self::http(code.status(), code, message)
    }

    /// Creates an error with a status that is not the usual one of its code.
    pub fn http(status: u16, code: ErrorCode, message: impl Into<PublicText>) -> Self {
        Self::from_kind(ErrorKind::Http { status, code: Some(code), message: message.into() })
    }

    /// Creates an error of any kind without a cause.
    pub fn from_kind(kind: ErrorKind) -> Self {
        Self { kind, cause: None, retry_after: None, wrapped_as: None }
    }

    /// Creates a 400 `validation_failed`.
    pub fn invalid(message: impl Into<PublicText>) -> Self {
        Self::new(ErrorCode::ValidationFailed, message)
    }

    /// Creates a 500 `unexpected_failure` with a specific message.
    pub fn internal(message: impl Into<PublicText>) -> Self {
        Self::new(ErrorCode::UnexpectedFailure, message)
    }

    /// Creates an OAuth error (RFC 6749 §5.2).
    pub fn oauth(code: OAuthErrorCode, description: impl Into<PublicText>) -> Self {
        Self::oauth_from_provider(code.as_str(), description)
    }

    /// Creates the OAuth error with which an external provider responded.
    pub fn oauth_from_provider(error: impl Into<PublicText>, description: impl Into<PublicText>) -> Self {
        Self::from_kind(ErrorKind::OAuth { error: error.into(), description: description.into() })
    }

    /// Creates the generic 500 with its cause.
    pub fn other(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::from_kind(ErrorKind::Other).with_cause(cause)
    }

    /// Creates the error of a handler that failed, or that fails in GoTrue.
    pub fn internal_server_error(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::from_kind(ErrorKind::InternalServerError).with_cause(cause)
    }

    /// Creates the 503 for a database that is down, out of connections, unresponsive or read-only.
    pub fn database_unavailable() -> Self {
        let message = "The database cannot be used at the moment, please retry after a moment.";
        Self::new(ErrorCode::DatabaseUnavailable, message).retry_after(1)
    }

    /// Adds the internal cause, for the log.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds the `Retry-After` seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        match &self.kind {
            ErrorKind::Http { status, .. } => *status,
            ErrorKind::Postgres(database) => database.status,
            ErrorKind::OAuth { .. } => 400,
            ErrorKind::WeakPassword { .. } => 422,
            ErrorKind::InternalServerError | ErrorKind::Other => 500,
        }
    }

    /// Returns the error code, or GoTrue's default for errors without one.
    pub fn code(&self) -> ErrorCode {
        match &self.kind {
            ErrorKind::Http { code: Some(code), .. } => *code,
            ErrorKind::Postgres(_) => self.wrapped_as.map_or(ErrorCode::UnexpectedFailure, |wrapping| wrapping.code),
            ErrorKind::Http { status: 500, .. } | ErrorKind::InternalServerError | ErrorKind::Other => {
                ErrorCode::UnexpectedFailure
            }
            ErrorKind::Http { .. } | ErrorKind::OAuth { .. } => ErrorCode::Unknown,
            ErrorKind::WeakPassword { .. } => ErrorCode::WeakPassword,
        }
    }

    /// Returns the public message.
    pub fn message(&self) -> &str {
        match &self.kind {
            ErrorKind::Http { message, .. } => message,
            ErrorKind::OAuth { description, .. } => description,
            ErrorKind::WeakPassword { message, .. } => message,
            ErrorKind::Postgres(database) => &database.wrapped,
            ErrorKind::InternalServerError => "Internal Server Error",
            ErrorKind::Other => OTHER_MESSAGE,
        }
    }
}

/// Formats status and message, as texts that quote another error contain it:
/// `422: No valid flow state found for user.`.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status(), self.message())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_status_and_message() {
        let error = Error::http(422, ErrorCode::FlowStateNotFound, "No valid flow state found for user.");
        assert_eq!(error.to_string(), "422: No valid flow state found for user.");
    }

    #[test]
    fn default_codes_match_gotrue() {
        let hook = |status| Error::from_kind(ErrorKind::Http { status, code: None, message: "no".into() });
        assert_eq!(hook(500).code().as_str(), "unexpected_failure");
        assert_eq!(hook(403).code().as_str(), "unknown");
        assert_eq!(Error::other("boom").code().as_str(), "unexpected_failure");
        assert_eq!(Error::other("boom").message(), OTHER_MESSAGE);
    }
}
