//! Decodes a provider's JSON. A member whose type differs from the documented one is an error.

use serde::de::DeserializeOwned;

use crate::wire::go_json::{Document, GoJsonError};

/// A provider's response that cannot be used. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider's response cannot be used: {0}")]
pub struct ProviderResponseError(pub String);

/// The message contains no value: values are personal data and are not logged.
impl From<GoJsonError> for ProviderResponseError {
    fn from(error: GoJsonError) -> Self {
        Self(error.to_string())
    }
}

/// Decodes a response. `T` must be `#[serde(default)]`, since every member may be absent.
pub fn decode<T: DeserializeOwned>(answer: &Document) -> Result<T, ProviderResponseError> {
    Ok(answer.read()?)
}

/// Formats a numeric user id.
/// 0, which an absent id decodes to, becomes empty: otherwise all users without an id would share one identity.
pub fn format_numeric_id(number: i64) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}
