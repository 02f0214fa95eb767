//! A parser of the part of YAML that Compose files use.
//!
//! Block and flow maps and lists, all kinds of scalars, comments, anchors, aliases and merge keys. Tags are skipped; keys
//! other than texts are refused. Limits on size, depth and number hold for every text.

mod block;
mod flow;
mod scalars;

use std::collections::BTreeMap;
use std::fmt;

/// The largest text, in bytes.
pub(in crate::parity) const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting.
const MAX_DEPTH: usize = 64;
/// The largest number of values, including those that aliases repeat.
const MAX_VALUES: usize = 100_000;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::parity) enum Yaml {
    /// No value: empty, `~` or `null`.
    Null,
    /// A text, a number or a switch, as it is written.
    Text(String),
    /// A list.
    List(Vec<Yaml>),
    /// A map, in the order of the text; a later value of a key replaces an earlier one.
    Map(Vec<(String, Yaml)>),
}

/// A text that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::parity) struct YamlError {
    /// The line, from 1.
    pub line: usize,
    /// The problem.
    pub problem: &'static str,
}

impl fmt::Display for YamlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.problem)
    }
}

impl Yaml {
    /// Returns the value of a key.
    pub(in crate::parity) fn get(&self, key: &str) -> Option<&Yaml> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the entries of a map; none for another value.
    pub(in crate::parity) fn entries(&self) -> &[(String, Yaml)] {
        if let Self::Map(entries) = self { entries } else { &[] }
    }

    /// Returns the text of a scalar.
    pub(in crate::parity) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the number of values in this one.
    fn count(&self) -> usize {
        match self {
            Self::Null | Self::Text(_) => 1,
            Self::List(items) => 1 + items.iter().map(Self::count).sum::<usize>(),
            Self::Map(entries) => 1 + entries.iter().map(|(_, value)| value.count()).sum::<usize>(),
        }
    }
}

/// Parses the first document of a text.
pub(in crate::parity) fn parse(text: &str) -> Result<Yaml, YamlError> {
    if text.len() > MAX_BYTES {
        return Err(YamlError { line: 1, problem: "the file has more than 1 MiB" });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser { text, at: 0, depth: 0, values: 0, anchors: BTreeMap::new() };
    parser.skip_document_start();
    let value = parser.parse_child(0, false)?;
    match parser.find_content()? {
        None => Ok(value),
        Some(_) => Err(parser.error("this does not belong to the values before it; is the indentation right?")),
    }
}

/// The position in a text, and what was found before it.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    values: usize,
    anchors: BTreeMap<String, Yaml>,
}

impl<'a> Parser<'a> {
    fn error(&self, problem: &'static str) -> YamlError {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        YamlError { line: before.matches('\n').count() + 1, problem }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns whether the byte after the current one ends a token.
    fn is_separated(&self) -> bool {
        self.text.as_bytes().get(self.at + 1).is_none_or(u8::is_ascii_whitespace)
    }

    fn column(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        self.at - before.rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Skips directives and the line that begins a document.
    fn skip_document_start(&mut self) {
        loop {
            let rest = self.rest();
            let line = rest.lines().next().unwrap_or_default();
            let is_skipped = line.starts_with('%') || line.trim().is_empty() || line.starts_with('#');
            let is_start = line == "---" || line.starts_with("--- ");
            if rest.is_empty() || !(is_skipped || is_start) {
                return;
            }
            self.at += if is_start { 3 } else { rest.find('\n').map_or(rest.len(), |end| end + 1) };
            if is_start {
                return;
            }
        }
    }

    /// Skips blanks of the line, and a comment after them.
    fn skip_blanks(&mut self) {
        let rest = self.rest();
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let is_comment_allowed = blanks > 0 || self.column() == 0;
        self.at += blanks;
        if is_comment_allowed && self.peek() == Some(b'#') {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn is_at_line_end(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b'\r'))
    }

    /// Skips to the next value; returns its column, or `None` at the end of the document.
    fn find_content(&mut self) -> Result<Option<usize>, YamlError> {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return Ok(None),
                Some(b'\n' | b'\r') => self.at += 1,
                Some(_) => break,
            }
        }
        let column = self.column();
        let line_start = self.at - column;
        let is_marker = |marker: &str| self.rest().starts_with(marker) && column == 0;
        if is_marker("...") || is_marker("---") {
            self.at = self.text.len();
            return Ok(None);
        }
        if self.text.get(line_start..self.at).is_some_and(|before| before.trim().is_empty() && before.contains('\t')) {
            return Err(self.error("a tab cannot indent a value; use spaces"));
        }
        Ok(Some(column))
    }
}
