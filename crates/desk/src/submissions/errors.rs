//! Failed operations on submissions as responses.

use functions_rs::submissions::error::{InvalidInput, SubmissionError};
use http::StatusCode;

use crate::http::error::DeskError;

impl From<InvalidInput> for DeskError {
    fn from(invalid: InvalidInput) -> Self {
        let error = Self::new(StatusCode::BAD_REQUEST, invalid.code, invalid.message);
        match invalid.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl From<SubmissionError> for DeskError {
    fn from(error: SubmissionError) -> Self {
        match error {
            SubmissionError::NotFound(what) => {
                Self::not_found(&format!("The {what}")).hint("It may have been deleted; load the list again.")
            }
            SubmissionError::Invalid(invalid) => invalid.into(),
            SubmissionError::Conflict { code, message } => Self::new(StatusCode::CONFLICT, code, message),
            SubmissionError::Store(error) => error.into(),
        }
    }
}
