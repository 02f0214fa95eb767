//! A statement that was left out.

use super::releases;
use crate::store::migrate::words::{CreatedObject, find_created_object};

/// A statement of a file that ran without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedStatement {
    /// The path of the file from the project's root.
    pub path: String,
    /// The position of the statement in the file, from 1.
    pub ordinal: usize,
    /// The line of the failure.
    pub line: usize,
    pub statement: String,
    /// The database's message.
    pub reason: String,
    /// What makes the statement run, if that is known.
    pub remedy: Option<String>,
    /// Whether nothing else of the project depends on the statement.
    pub is_note: bool,
}

impl SkippedStatement {
    /// Returns the object that is missing because of it.
    pub fn find_missing_object(&self) -> Option<CreatedObject> {
        find_created_object(&self.statement)
    }

    /// Returns whether roles may do more without it: it revokes rights or enables row-level security.
    pub fn restricts_access(&self) -> bool {
        !self.is_note
            && releases::restricts_access(&self.statement)
            && !releases::alters_missing_table(&self.statement, &self.reason)
    }
}
