//! Why an operation of the owner on a submission failed.

use std::borrow::Cow;

use gotrue_rs::store;
use gotrue_rules::domain::error::ErrorCode;

/// A failed operation on submissions.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    /// There is no such submission, note or message.
    #[error("there is no {0} with this id; it may have been deleted")]
    NotFound(&'static str),
    /// The input is invalid.
    #[error("{}", .0.message)]
    Invalid(InvalidInput),
    /// The operation does not apply to the present state.
    #[error("{message}")]
    Conflict {
        /// A stable code.
        code: &'static str,
        /// The problem and the remedy.
        message: &'static str,
    },
    /// A statement failed; nothing was changed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// What is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidInput {
    /// A stable code.
    pub code: &'static str,
    /// The problem.
    pub message: Cow<'static, str>,
    /// The remedy, if the message does not say it.
    pub hint: Option<Cow<'static, str>>,
}

impl InvalidInput {
    /// Creates the error of an invalid value with this message.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: ErrorCode::ValidationFailed.as_str(), message: message.into(), hint: None }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<InvalidInput> for SubmissionError {
    fn from(invalid: InvalidInput) -> Self {
        Self::Invalid(invalid)
    }
}

impl SubmissionError {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "not_found",
            Self::Invalid(invalid) => invalid.code,
            Self::Conflict { code, .. } => code,
            Self::Store(error) if error.is_unavailable() => ErrorCode::DatabaseUnavailable.as_str(),
            Self::Store(_) => ErrorCode::UnexpectedFailure.as_str(),
        }
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotFound(_) => 404,
            Self::Invalid(_) => 400,
            Self::Conflict { .. } => 409,
            Self::Store(error) if error.is_unavailable() => 503,
            Self::Store(_) => 500,
        }
    }
}
