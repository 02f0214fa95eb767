//! Problems of settings that prevent the start, and notices for the log.

use std::fmt;

/// An invalid setting that prevents the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The variable's name as configured, or its usual name if it is missing.
    pub name: String,
    /// The problem, as a sentence without subject and full stop: `"abc" is not a whole number of seconds`.
    ///
    /// Contains no secret.
    pub complaint: String,
    /// A valid example value.
    pub example: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}. Example: {}={}", self.name, self.complaint, self.name, self.example)
    }
}

impl std::error::Error for Problem {}

/// The log level of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Logged at level debug.
    Debug,
    /// Logged as a warning.
    Warning,
}

/// A setting that does not prevent the start but may not have the intended effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The variable's name as configured.
    pub name: String,
    /// The effect, as a sentence without subject and full stop.
    pub text: String,
    /// The log level.
    pub level: NoticeLevel,
}

impl Notice {
    /// Creates a notice that is logged as a warning.
    pub fn warning(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), level: NoticeLevel::Warning }
    }

    /// Creates a notice that is logged at level debug.
    pub fn debug(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), level: NoticeLevel::Debug }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.text)
    }
}
