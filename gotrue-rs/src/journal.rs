//! What one request did, in order: guards, decisions, statements, calls. Logs and tests read it; it costs a push each.

use std::sync::{Mutex, PoisonError};

/// One thing that a request did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A guard of the route table was passed.
    Guard(&'static str),
    /// A rule came to this outcome.
    Decision(&'static str),
    /// A statement of this name was sent to the database.
    Statement(&'static str),
    /// `BEGIN` or `COMMIT`; not counted as statements.
    Transaction(&'static str),
    /// Something outside was called: mail, a hook, hashing.
    Call(&'static str),
}

/// The steps of one request.
#[derive(Debug, Default)]
pub struct Journal(Mutex<Vec<Step>>);

impl Journal {
    /// Writes a step down.
    pub fn note(&self, step: Step) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }

    /// All steps so far.
    pub fn steps(&self) -> Vec<Step> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The names of the statements so far, without `BEGIN` and `COMMIT`.
    pub fn statements(&self) -> Vec<&'static str> {
        let statement = |step| if let Step::Statement(name) = step { Some(name) } else { None };
        self.steps().into_iter().filter_map(statement).collect()
    }
}
