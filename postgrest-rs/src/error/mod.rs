//! Errors as clients see them: status, code, message, details, hint and header fields.

pub mod cache;
pub mod database;
pub mod fuzzy;
pub mod request;
pub mod token;

use std::borrow::Cow;

use serde_json::Value;

/// An error that is answered to the client. It is boxed: most requests have none.
#[derive(Debug, Clone, PartialEq)]
pub struct Error(Box<ErrorParts>);

/// What an error answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorParts {
    /// HTTP status; the database may choose any number from 100 to 999.
    pub status: u16,
    /// Reason phrase, where the database gives one.
    pub reason: Option<String>,
    /// `PGRST…` or an SQLSTATE.
    pub code: Cow<'static, str>,
    /// What went wrong.
    pub message: String,
    /// More about it: a text, or the candidates of an ambiguous embed.
    pub details: Option<Value>,
    /// What may help.
    pub hint: Option<String>,
    /// Header fields besides `Content-Type`, `Content-Length` and `Proxy-Status`.
    pub headers: Vec<(String, String)>,
}

impl Error {
    /// An error without details, hint and header fields.
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorParts {
            status,
            reason: None,
            code: Cow::Borrowed(code),
            message: message.into(),
            details: None,
            hint: None,
            headers: Vec::new(),
        }))
    }

    /// The error with details.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(Value::String(details.into()));
        self
    }

    /// The error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The parts of the error.
    pub fn into_parts(self) -> ErrorParts {
        *self.0
    }

    /// The body: an object with the keys `code`, `details`, `hint` and `message`, null where absent.
    pub fn body(&self) -> Vec<u8> {
        #[derive(serde::Serialize)]
        struct Body<'a> {
            code: &'a str,
            details: Option<&'a Value>,
            hint: Option<&'a str>,
            message: &'a str,
        }
        let body = Body {
            code: &self.code,
            details: self.details.as_ref(),
            hint: self.hint.as_deref(),
            message: &self.message,
        };
        // Strings and JSON values serialise always.
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

impl std::ops::Deref for Error {
    type Target = ErrorParts;

    fn deref(&self) -> &ErrorParts {
        &self.0
    }
}

impl std::ops::DerefMut for Error {
    fn deref_mut(&mut self) -> &mut ErrorParts {
        &mut self.0
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Error {}
