//! The outcome of inserting a user.
//!
//! An address or number that a concurrent request stored first is an outcome, not an error.

use super::{Error, Result};

/// The unique constraints on the users' addresses and numbers.
const CONTACT_UNIQUE: [&str; 2] = ["users_email_partial_key", "users_phone_key"];

/// The outcome of inserting a user.
#[derive(Debug)]
#[must_use]
pub enum UserInsertion {
    /// The user was inserted.
    Written,
    /// Another user has the address or number. An open transaction is aborted.
    Conflict(Error),
}

impl UserInsertion {
    /// Converts the conflict to an error.
    ///
    /// # Errors
    /// Another user has the address or number.
    pub fn into_result(self) -> Result<()> {
        match self {
            Self::Written => Ok(()),
            Self::Conflict(error) => Err(error),
        }
    }

    /// Separates a conflict over an address or number from other failures.
    pub(super) fn from_insert(inserted: Result<u64>) -> Result<Self> {
        match inserted {
            Ok(_) => Ok(Self::Written),
            Err(error) if error.constraint().is_some_and(|name| CONTACT_UNIQUE.contains(&name)) => {
                Ok(Self::Conflict(error))
            }
            Err(error) => Err(error),
        }
    }
}
