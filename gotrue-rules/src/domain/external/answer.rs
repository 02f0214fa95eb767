//! A provider's JSON in the shape that it documents. A member of another type than documented is an error.

use serde::de::DeserializeOwned;

use crate::wire::go_json::{Document, Error};

/// A provider's answer that tells nothing of a person. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider's answer cannot be used: {0}")]
pub struct BadAnswer(pub String);

/// The words name no value: it is the person's, and not for a log.
impl From<Error> for BadAnswer {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

/// An answer in the shape that a provider documents. What a struct reads wants `#[serde(default)]`: anything may be absent.
pub fn read<T: DeserializeOwned>(answer: &Document) -> Result<T, BadAnswer> {
    Ok(answer.read()?)
}

/// A person's id that is a number. 0 is what an answer without one reads as, and nobody: else all of them would be one.
pub fn id(number: i64) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}
