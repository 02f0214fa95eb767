//! The error of JSON that is malformed or has another type than its reader.

use std::fmt;

/// Why a body cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoJsonError(pub(super) String);

impl fmt::Display for GoJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GoJsonError {}
