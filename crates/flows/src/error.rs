//! Why a flow cannot be read, recorded or replayed, and what to do about it.

/// A problem and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {hint}")]
pub struct FlowError {
    /// What is wrong.
    pub problem: String,
    /// What to do next.
    pub hint: String,
}

impl FlowError {
    /// Creates an error.
    pub fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }

    /// Puts the place in front of the problem, such as a file or a step.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.problem.insert_str(0, ": ");
        self.problem.insert_str(0, place);
        self
    }
}
