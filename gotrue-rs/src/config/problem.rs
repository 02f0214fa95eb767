//! What is wrong with a setting, said so that it can be put right, and what is only worth a line in the log.

use std::fmt;

/// A setting that stops the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The variable's name, as the operator gave it, or as it is usually given where it is missing.
    pub name: String,
    /// What is wrong, as a sentence without its subject and full stop: `"abc" is not a whole number of seconds`.
    /// Never holds a secret.
    pub complaint: String,
    /// A value that would do.
    pub example: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}. Example: {}={}", self.name, self.complaint, self.name, self.example)
    }
}

impl std::error::Error for Problem {}

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loudness {
    /// For someone who looks for it.
    Debug,
    /// For everyone.
    Warning,
}

/// A setting that does not stop the start, and yet is not what its author thinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The variable's name, as the operator gave it.
    pub name: String,
    /// What becomes of it, as a sentence without its subject and full stop.
    pub text: String,
    /// How loud it should be.
    pub loudness: Loudness,
}

impl Notice {
    /// A notice for everyone.
    pub fn warning(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), loudness: Loudness::Warning }
    }

    /// A notice for someone who looks for it.
    pub fn debug(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), loudness: Loudness::Debug }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.text)
    }
}
