//! Writes of a new account that a concurrent request for the same address or number can win. The loser looks again and
//! answers as for an account that it found.

use gotrue_rules::domain::error::{Error, Result};

use crate::store::accounts::Insertion;
use crate::store::{self, OrRefuse};

/// What came of an attempt to store a new account.
#[derive(Debug)]
pub enum Attempt<T> {
    /// It was stored, or nothing had to be.
    Done(T),
    /// Another account has the address or number since the look-up, and nothing was stored. Holds the answer for the case
    /// that a second look-up finds no account: one of another audience has it.
    Conflict(Error),
}

impl<T> Attempt<T> {
    /// What the last attempt came to.
    pub fn or_refuse(self) -> Result<T> {
        match self {
            Self::Done(it) => Ok(it),
            Self::Conflict(error) => Err(error),
        }
    }
}

impl Attempt<()> {
    /// The attempt that an insert was; `message` is the answer to a failure.
    pub fn of(inserted: store::Result<Insertion>, message: &'static str) -> Result<Self> {
        Ok(match inserted.or_refuse(message)? {
            Insertion::Written => Self::Done(()),
            Insertion::Conflict(error) => Self::Conflict(error.wrapped(message)),
        })
    }
}
