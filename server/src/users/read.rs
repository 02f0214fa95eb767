//! Files of accounts, read piece by piece: whatever their size, a few lines of them are in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use flate2::bufread::MultiGzDecoder;
use gotrue_rules::domain::bulk::{Row, Wrong};
use indicatif::ProgressBar;
use serde_json::Value;

use super::bar::bar;
use crate::cli::Format;

/// A longer line is nobody's account.
pub const LONGEST: u64 = 1 << 20;
/// How much of a file is looked at to find out what wrote it.
const LOOK: usize = 1 << 16;

/// A file's text.
pub type Text = BufReader<Box<dyn Read>>;

/// Opens a file or standard input, gunzips it where it is gzipped, and shows how far it has been read.
pub fn open(path: &Path) -> anyhow::Result<(Text, ProgressBar)> {
    let doing = || format!("reading {}", path.display());
    let (raw, size): (Box<dyn Read>, u64) = if path.as_os_str() == "-" {
        (Box::new(io::stdin()), 0)
    } else {
        let file = File::open(path).with_context(doing)?;
        let size = file.metadata().with_context(doing)?.len();
        (Box::new(file), size)
    };
    let bar = bar(size, true);
    let mut raw = BufReader::new(bar.wrap_read(raw));
    let is_gzipped = raw.fill_buf().with_context(doing)?.starts_with(&[0x1f, 0x8b]);
    let text: Box<dyn Read> = if is_gzipped { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) };
    Ok((BufReader::with_capacity(LOOK, text), bar))
}

/// What wrote the text, by its beginning.
pub fn format_of(text: &mut Text) -> io::Result<Format> {
    let beginning = String::from_utf8_lossy(text.fill_buf()?).into_owned();
    let beginning = beginning.trim_start_matches('\u{feff}').trim_start();
    if !beginning.starts_with('{') {
        return Ok(Format::Supabase);
    }
    let packed: String = beginning.chars().filter(|letter| !letter.is_whitespace()).take(10).collect();
    if packed.starts_with("{\"users\":[") {
        return Ok(Format::Firebase);
    }
    let first = beginning.lines().next().unwrap_or_default();
    let first: Row = serde_json::from_str(first).unwrap_or_default();
    let is_auth0 = ["_id", "Id", "user_id", "passwordHash"].iter().any(|name| first.contains_key(*name));
    Ok(if is_auth0 { Format::Auth0 } else { Format::Basalt })
}

/// What stands on a line, by the line's number from 1.
pub struct Item {
    /// Where it begins.
    pub line: u64,
    /// What it says, or why it says nothing.
    pub row: Result<Row, Wrong>,
}

/// One object a line. Empty lines are passed over.
pub struct Lines {
    text: Text,
    line: u64,
}

impl Lines {
    /// The lines of a text.
    pub fn of(text: Text) -> Self {
        Self { text, line: 0 }
    }
}

impl Iterator for Lines {
    type Item = io::Result<Item>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let bytes = match next_line(&mut self.text) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            };
            self.line += 1;
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            if !bytes.trim_ascii().is_empty() {
                return Some(Ok(Item { line: self.line, row: object(bytes) }));
            }
        }
    }
}

/// The next line without its end, cut off at [`LONGEST`] and a byte; none at the end of the text.
pub fn next_line(text: &mut Text) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if text.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(line));
    }
    // Longer than allowed, or the last one: what is left of it is passed over.
    loop {
        let rest = text.fill_buf()?;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (consumed, is_over) = end.map_or((rest.len(), rest.is_empty()), |at| (at + 1, true));
        text.consume(consumed);
        if is_over {
            return Ok(Some(line));
        }
    }
}

fn object(bytes: &[u8]) -> Result<Row, Wrong> {
    if bytes.len() as u64 > LONGEST {
        return Err(format!("longer than {LONGEST} bytes"));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(row)) => Ok(row),
        Ok(_) => Err("a JSON object is wanted".to_owned()),
        Err(error) => Err(format!("no JSON: {error}")),
    }
}

/// The objects of the first list in a JSON text, such as `{"users": [{…}, {…}]}`.
pub struct Listed {
    text: Text,
    line: u64,
    is_inside: bool,
    is_over: bool,
}

impl Listed {
    /// The objects of a text.
    pub fn of(text: Text) -> Self {
        Self { text, line: 1, is_inside: false, is_over: false }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.text.fill_buf()?.first().copied();
        if byte.is_some() {
            self.text.consume(1);
        }
        self.line += u64::from(byte == Some(b'\n'));
        Ok(byte)
    }

    /// The object whose first brace has been read, as long as it is short enough.
    fn rest_of_object(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![b'{'];
        let (mut depth, mut in_text, mut is_escaped) = (1_u32, false, false);
        while depth > 0 {
            let Some(byte) = self.byte()? else { break };
            if bytes.len() as u64 <= LONGEST {
                bytes.push(byte);
            }
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_text => is_escaped = true,
                b'"' => in_text = !in_text,
                b'{' if !in_text => depth += 1,
                b'}' if !in_text => depth -= 1,
                _ => {}
            }
        }
        Ok(bytes)
    }

    fn advance(&mut self) -> io::Result<Option<Item>> {
        while !self.is_over {
            match self.byte()? {
                Some(b'[') if !self.is_inside => self.is_inside = true,
                Some(b'{') if self.is_inside => {
                    let line = self.line;
                    return Ok(Some(Item { line, row: object(&self.rest_of_object()?) }));
                }
                Some(b']') | None => self.is_over = true,
                Some(_) => {}
            }
        }
        Ok(None)
    }
}

impl Iterator for Listed {
    type Item = io::Result<Item>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content: &str) -> Text {
        BufReader::new(Box::new(io::Cursor::new(content.to_owned().into_bytes())))
    }

    fn seen(items: impl Iterator<Item = io::Result<Item>>) -> Vec<(u64, bool)> {
        items.map(|item| item.expect("readable")).map(|item| (item.line, item.row.is_ok())).collect()
    }

    #[test]
    fn a_broken_line_takes_no_other_with_it() {
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(2 << 20));
        let content = format!("\u{feff}{{}}\n\n{{\"a\"\n[]\n{long}\n{{}}");
        assert_eq!(seen(Lines::of(text(&content))), [(1, true), (3, false), (4, false), (5, false), (6, true)]);
    }

    #[test]
    fn objects_are_found_in_a_list() {
        let content = "{\"users\": [\n{\"a\": \"}]{\\\"\"},\n{\"b\": {\"c\": []}}, {nonsense}\n]}";
        assert_eq!(seen(Listed::of(text(content))), [(2, true), (3, true), (3, false)]);
        assert_eq!(seen(Listed::of(text("{\"users\": [{\"a\""))), [(1, false)]);
        assert_eq!(seen(Listed::of(text(""))), []);
    }

    #[test]
    fn a_file_is_known_by_its_beginning() {
        for (content, format) in [
            ("{\"email\": \"a@b.co\"}\n", Format::Basalt),
            ("{ \"users\" : [ {", Format::Firebase),
            ("{\"_id\": {\"$oid\": \"1\"}, \"passwordHash\": \"x\"}\n", Format::Auth0),
            ("--\n-- PostgreSQL database dump\n", Format::Supabase),
            ("SET session_replication_role = replica;", Format::Supabase),
            ("", Format::Supabase),
        ] {
            assert_eq!(format_of(&mut text(content)).expect("readable"), format, "{content}");
        }
    }
}
