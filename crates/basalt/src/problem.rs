//! Problems of `config.toml` and `catalogue.toml`, with their lines.

use std::fmt;
use std::ops::Range;

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

/// Returns the line of a span, from 1.
pub(crate) fn line_number(text: &str, span: &Range<usize>) -> usize {
    text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count() + 1
}
