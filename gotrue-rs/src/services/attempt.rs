//! Inserts of a new user that can lose against a concurrent request for the same address or number.
//!
//! The losing request repeats the look-up and answers as for an existing user.

use foundation::error::{Error, Result};
use gotrue_rules::domain::user::User;
use platform::store;
use platform::store::OrInternalError;

use crate::store::accounts::UserInsertion;

/// The outcome of an attempt to insert a new user.
#[derive(Debug)]
pub enum Attempt<T> {
    /// The row was inserted, or no insert was needed.
    Done(T),
    /// Another user got the address or number since the look-up; nothing was stored.
    ///
    /// The error is the response if a second look-up finds no user either: then a user of another audience has it.
    Conflict(Error),
}

impl<T> Attempt<T> {
    /// Converts the outcome of the last attempt into a result.
    pub fn into_result(self) -> Result<T> {
        match self {
            Self::Done(value) => Ok(value),
            Self::Conflict(error) => Err(error),
        }
    }
}

impl Attempt<User> {
    /// Converts the result of an insert to the user as it is stored; `message` is the public text of a database error.
    pub fn from_insertion(inserted: store::Result<UserInsertion>, message: &'static str) -> Result<Self> {
        Ok(match inserted.or_internal_error(message)? {
            UserInsertion::Written(stored) => Self::Done(*stored),
            UserInsertion::NeedsSteps => {
                return Err(Error::internal(message).with_cause("a user was to be stored in steps and was not"));
            }
            UserInsertion::Conflict(error) => Self::Conflict(error.into_internal_error(message)),
        })
    }
}
