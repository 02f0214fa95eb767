//! Whether a new account could be written: an address or number that a concurrent request stored first is an outcome.

use super::{Error, Result};

/// The constraints by which no two accounts have one address or number.
const CONTACT_UNIQUE: [&str; 2] = ["users_email_partial_key", "users_phone_key"];

/// Whether a new account was written.
#[derive(Debug)]
#[must_use]
pub enum Insertion {
    /// It was.
    Written,
    /// Another account has the address or number. An open transaction is void.
    Conflict(Error),
}

impl Insertion {
    /// Nothing, or the conflict as a failure: for whoever answers both alike.
    pub fn or_fail(self) -> Result<()> {
        match self {
            Self::Written => Ok(()),
            Self::Conflict(error) => Err(error),
        }
    }

    /// Tells a conflict over an address or number from other failures.
    pub(super) fn of(inserted: Result<u64>) -> Result<Self> {
        match inserted {
            Ok(_) => Ok(Self::Written),
            Err(error) if error.constraint().is_some_and(|name| CONTACT_UNIQUE.contains(&name)) => {
                Ok(Self::Conflict(error))
            }
            Err(error) => Err(error),
        }
    }
}
