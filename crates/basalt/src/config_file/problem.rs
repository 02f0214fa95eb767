//! Problems of `config.toml`, with their lines.

use std::fmt;

/// A problem in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The line, from 1.
    pub line: Option<usize>,
    /// The description and the remedy.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "line {line}: {}", self.text),
            None => out.write_str(&self.text),
        }
    }
}
