//! What a request can be refused with. An error is data: `http/reply.rs` of the auth crate alone renders it,
//! by API version and door. The code does not determine the status (endpoints.md §1.4), so both are kept.

pub mod codes;

use std::borrow::Cow;
use std::fmt;

/// Text for the outside; never holds a secret, a code, an address or a statement.
pub type Text = Cow<'static, str>;

/// The result of everything that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refusal: what the client is told, and beside it what only the log is told.
#[derive(Debug)]
pub struct Error {
    /// What the client is told.
    pub kind: Kind,
    /// What really happened; logged once, where the request is answered, never sent.
    pub cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// When to try again, in seconds: the header `Retry-After`.
    pub retry_after: Option<u64>,
    /// Status and code of the error that a database error is wrapped in, where they are not those of a plain failure.
    pub wrapped_as: Option<(u16, &'static str)>,
}

/// The forms of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// An HTTP status with an error code and a message.
    Http {
        /// The status, 400–599 (a hook may name any).
        status: u16,
        /// The error code, if it has one of its own; see `endpoints.md` §1.5.
        code: Option<&'static str>,
        /// The message, exactly as the reference words it.
        message: Text,
    },
    /// An OAuth error body, always status 400.
    OAuth {
        /// The `error` member.
        error: Text,
        /// The `error_description` member; left out when empty.
        description: Text,
    },
    /// A password refused by today's strength rules, status 422.
    WeakPassword {
        /// The messages of all reasons, joined by a space.
        message: String,
        /// `length`, `characters`, `pwned`, in this order.
        reasons: Vec<&'static str>,
    },
    /// An error the database raised, which the legacy API version shows; `endpoints.md` §1.4.
    Postgres(Box<DatabaseError>),
    /// A handler broke down, or does so in the reference: 500 "Internal Server Error" without an id.
    Broken,
    /// Everything else: 500 without an id.
    Other,
}

/// What the database said (SQLSTATE and texts), and the error it is in the other API version and in redirects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseError {
    /// The status: 500, or what `PTxxx` says.
    pub status: u16,
    /// The five characters of the SQLSTATE.
    pub sqlstate: String,
    /// The database's message.
    pub message: String,
    /// Its hint.
    pub hint: Option<String>,
    /// Its detail.
    pub detail: Option<String>,
    /// The message of the error it was wrapped in.
    pub wrapped: Text,
}

/// The code of an error without one of its own at status 500.
pub const UNEXPECTED_FAILURE: &str = "unexpected_failure";
/// The message of [`Kind::Other`].
pub const OTHER_MESSAGE: &str = "Unexpected failure, please check server logs for more information";

impl Error {
    /// An error of this kind without a cause.
    pub fn new(kind: Kind) -> Self {
        Self { kind, cause: None, retry_after: None, wrapped_as: None }
    }

    /// Any status with a code.
    pub fn http(status: u16, code: &'static str, message: impl Into<Text>) -> Self {
        Self::new(Kind::Http { status, code: Some(code), message: message.into() })
    }

    /// 400 with a code.
    pub fn bad_request(code: &'static str, message: impl Into<Text>) -> Self {
        Self::http(400, code, message)
    }

    /// 401 with a code.
    pub fn unauthorized(code: &'static str, message: impl Into<Text>) -> Self {
        Self::http(401, code, message)
    }

    /// 403 with a code.
    pub fn forbidden(code: &'static str, message: impl Into<Text>) -> Self {
        Self::http(403, code, message)
    }

    /// 404 with a code.
    pub fn not_found(code: &'static str, message: impl Into<Text>) -> Self {
        Self::http(404, code, message)
    }

    /// 422 with a code.
    pub fn unprocessable(code: &'static str, message: impl Into<Text>) -> Self {
        Self::http(422, code, message)
    }

    /// 429 with a code.
    pub fn too_many(code: &'static str, message: impl Into<Text>) -> Self {
        Self::http(429, code, message)
    }

    /// 400 `validation_failed`.
    pub fn invalid(message: impl Into<Text>) -> Self {
        Self::bad_request("validation_failed", message)
    }

    /// 500 `unexpected_failure` with a message of its own.
    pub fn internal(message: impl Into<Text>) -> Self {
        Self::http(500, UNEXPECTED_FAILURE, message)
    }

    /// An OAuth error body.
    pub fn oauth(error: impl Into<Text>, description: impl Into<Text>) -> Self {
        Self::new(Kind::OAuth { error: error.into(), description: description.into() })
    }

    /// The generic 500, with what really happened.
    pub fn other(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(Kind::Other).because(cause)
    }

    /// A handler that broke down, or does so in the reference.
    pub fn broken(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(Kind::Broken).because(cause)
    }

    /// 503: the database is down, out of connections, silent or read-only.
    pub fn database_unavailable() -> Self {
        let message = "The database cannot be used at the moment, please retry after a moment.";
        Self::http(503, "database_unavailable", message).retry_after(1)
    }

    /// The same refusal with what really happened beside it, for the log.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The same refusal with the seconds after which to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The status the client sees.
    pub fn status(&self) -> u16 {
        match &self.kind {
            Kind::Http { status, .. } => *status,
            Kind::Postgres(said) => said.status,
            Kind::OAuth { .. } => 400,
            Kind::WeakPassword { .. } => 422,
            Kind::Broken | Kind::Other => 500,
        }
    }

    /// The error code the client sees: its own, else what the reference puts for none.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            Kind::Http { code: Some(code), .. } => code,
            Kind::Postgres(_) => self.wrapped_as.map_or(UNEXPECTED_FAILURE, |(_, code)| code),
            Kind::Http { status: 500, .. } | Kind::Broken | Kind::Other => UNEXPECTED_FAILURE,
            Kind::Http { .. } | Kind::OAuth { .. } => "unknown",
            Kind::WeakPassword { .. } => "weak_password",
        }
    }

    /// The message the client sees.
    pub fn message(&self) -> &str {
        match &self.kind {
            Kind::Http { message, .. } => message,
            Kind::OAuth { description, .. } => description,
            Kind::WeakPassword { message, .. } => message,
            Kind::Postgres(said) => &said.wrapped,
            Kind::Broken => "Internal Server Error",
            Kind::Other => OTHER_MESSAGE,
        }
    }
}

/// Status and message, as some texts quote another error: `422: No valid flow state found for user.`
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
    fn an_error_says_itself_as_status_and_message() {
        let error = Error::unprocessable("flow_state_not_found", "No valid flow state found for user.");
        assert_eq!(error.to_string(), "422: No valid flow state found for user.");
    }

    #[test]
    fn codes_are_what_the_reference_puts_where_there_is_none() {
        let hook = |status| Error::new(Kind::Http { status, code: None, message: "no".into() });
        assert_eq!(hook(500).code(), "unexpected_failure");
        assert_eq!(hook(403).code(), "unknown");
        assert_eq!(Error::other("boom").code(), "unexpected_failure");
        assert_eq!(Error::other("boom").message(), OTHER_MESSAGE);
    }
}
