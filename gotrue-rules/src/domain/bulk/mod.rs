//! Accounts in bulk: what a line of a file says of a person, checked and made complete, as rows of the database. Files of
//! other services are put into the words of our own lines first, so that one set of checks holds for all.

pub mod auth0;
mod columns;
pub mod firebase;
mod person;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::user::Time;

pub use columns::{Table, row};
pub use person::{Person, person};

/// A row by the names of its columns, or a line by the names of its members.
pub type Row = Map<String, Value>;

/// What is wrong with a line, in words for whoever wrote it.
pub type Wrong = String;

/// What a line need not say.
pub struct Given<'a> {
    /// The moment of the import.
    pub now: Time,
    /// `aud` of accounts that name none.
    pub audience: &'a str,
    /// `role` of accounts that name none.
    pub role: &'a str,
    /// Gives a new id.
    pub new_id: &'a mut dyn FnMut() -> Uuid,
    /// Why a password's hash could not be compared with; none if it could.
    pub unusable_hash: &'a dyn Fn(&str) -> Option<&'static str>,
}

impl std::fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Given").field("now", &self.now).field("audience", &self.audience).finish_non_exhaustive()
    }
}
