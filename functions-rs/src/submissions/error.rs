//! Why an operation of the owner on a submission failed.

use std::borrow::Cow;

use foundation::error::ErrorCode;
use platform::store;

/// A failed operation on submissions.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    /// There is no such submission, note or message.
    #[error("there is no {0} with this id; it may have been deleted")]
    NotFound(&'static str),
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
