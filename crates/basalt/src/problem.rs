//! Problems of `config.toml`, with their lines.

use std::fmt;

/// Returns a key with its line, for messages: `line 3: auth.site_url`.
pub(crate) fn locate(line: Option<usize>, key: &str) -> String {
    line.map_or_else(|| key.to_owned(), |line| format!("line {line}: {key}"))
}

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
        out.write_str(&locate(self.line, &self.text))
    }
}
