//! Block maps and lists: values that indentation delimits.

use super::{MAX_DEPTH, MAX_VALUES};
use super::{Parser, Yaml, YamlError};

impl Parser<'_> {
    /// Parses the value that begins at the next content, from column `least`.
    ///
    /// A list of a map's value may begin at the column of its key, one before `least`.
    pub(super) fn parse_child(&mut self, least: usize, is_value_of_key: bool) -> Result<Yaml, YamlError> {
        let before = self.at;
        let Some(column) = self.find_content()? else { return Ok(Yaml::Null) };
        let is_item = self.peek() == Some(b'-') && self.is_separated();
        if column >= least || (is_value_of_key && is_item && column + 1 == least) {
            return self.parse_content(column, least);
        }
        self.at = before;
        Ok(Yaml::Null)
    }

    /// Parses the value at the current position, which begins a node.
    fn parse_content(&mut self, column: usize, least: usize) -> Result<Yaml, YamlError> {
        self.enter()?;
        let value = match self.peek() {
            Some(b'-') if self.is_separated() => self.parse_list(column),
            Some(b'?') if self.is_separated() => Err(self.error("keys that are not texts are not supported")),
            _ if self.is_at_key() => self.parse_map(column),
            _ => self.parse_inline(least),
        };
        self.depth -= 1;
        value
    }

    pub(super) fn enter(&mut self) -> Result<(), YamlError> {
        self.depth += 1;
        self.values += 1;
        match () {
            () if self.depth > MAX_DEPTH => Err(self.error("the values are nested too deeply")),
            () if self.values > MAX_VALUES => Err(self.error("the file has too many values")),
            () => Ok(()),
        }
    }

    pub(super) fn parse_list(&mut self, column: usize) -> Result<Yaml, YamlError> {
        let mut items = Vec::new();
        loop {
            self.at += 1;
            self.skip_blanks();
            let item = if self.is_at_line_end() {
                self.parse_child(column + 1, false)?
            } else {
                let inner = self.column();
                self.parse_content(inner, column + 1)?
            };
            items.push(item);
            let before = self.at;
            let next = self.find_content()?;
            if next != Some(column) || self.peek() != Some(b'-') || !self.is_separated() {
                self.at = if next.is_some() { before } else { self.at };
                return Ok(Yaml::List(items));
            }
        }
    }

    pub(super) fn parse_map(&mut self, column: usize) -> Result<Yaml, YamlError> {
        let mut entries: Vec<(String, Yaml)> = Vec::new();
        loop {
            let key = self.parse_key()?;
            self.skip_blanks();
            let value = if self.is_at_line_end() {
                self.parse_child(column + 1, true)?
            } else {
                self.parse_inline(column + 1)?
            };
            insert(&mut entries, key, value);
            let before = self.at;
            let next = self.find_content()?;
            if next != Some(column) {
                self.at = if next.is_some() { before } else { self.at };
                return Ok(Yaml::Map(merge(entries)));
            }
            if !self.is_at_key() {
                return Err(self.error("a key and a colon are wanted here"));
            }
        }
    }

    /// Returns whether the line has a key and a colon here.
    pub(super) fn is_at_key(&self) -> bool {
        let line = self.rest().lines().next().unwrap_or_default();
        match line.bytes().next() {
            Some(quote @ (b'"' | b'\'')) => find_quote_end(line, quote)
                .and_then(|end| line[end..].trim_start().strip_prefix(':'))
                .is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t'])),
            None | Some(b'[' | b'{' | b'|' | b'>' | b'&' | b'*' | b'!' | b'#') => false,
            Some(_) => find_colon(line).is_some_and(|colon| !line[..colon].contains(" #")),
        }
    }

    /// Parses a key and its colon.
    pub(super) fn parse_key(&mut self) -> Result<String, YamlError> {
        self.values += 1;
        let key = if let Some(quote @ (b'"' | b'\'')) = self.peek() {
            self.parse_quoted(quote)?
        } else {
            let line = self.rest().lines().next().unwrap_or_default();
            let colon = find_colon(line).unwrap_or(line.len());
            self.at += colon;
            line[..colon].trim().to_owned()
        };
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if self.peek() != Some(b':') {
            return Err(self.error("a colon is wanted here"));
        }
        self.at += 1;
        Ok(key)
    }
}

/// Finds the colon that ends a key without quotes.
fn find_colon(line: &str) -> Option<usize> {
    let is_end = |at: usize| line.as_bytes().get(at + 1).is_none_or(u8::is_ascii_whitespace);
    line.match_indices(':').map(|(at, _)| at).find(|at| is_end(*at))
}

/// Finds the position after the quote that closes the text at the beginning of a line.
fn find_quote_end(line: &str, quote: u8) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 2,
            b'\'' if quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') => at += 2,
            byte if *byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Adds an entry, or replaces the value of its key.
pub(super) fn insert(entries: &mut Vec<(String, Yaml)>, key: String, value: Yaml) {
    match entries.iter_mut().find(|(name, _)| *name == key && key != "<<") {
        Some((_, before)) => *before = value,
        None => entries.push((key, value)),
    }
}

/// Replaces merge keys (`<<`) by the entries of their maps, which do not replace others.
pub(super) fn merge(entries: Vec<(String, Yaml)>) -> Vec<(String, Yaml)> {
    let (merged, mut own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(key, _)| key == "<<");
    let maps = merged.into_iter().flat_map(|(_, value)| if let Yaml::List(maps) = value { maps } else { vec![value] });
    for (key, value) in maps.flat_map(|map| if let Yaml::Map(entries) = map { entries } else { Vec::new() }) {
        if own.iter().all(|(name, _)| *name != key) {
            own.push((key, value));
        }
    }
    own
}
