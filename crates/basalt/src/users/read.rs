//! Streaming readers of account files: only a few lines are in memory, whatever the file's size.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use flate2::bufread::MultiGzDecoder;
use gotrue_rules::domain::bulk::{ImportError, ImportRow};
use indicatif::ProgressBar;
use serde_json::Value;

use super::arguments::ImportFormat;
use crate::progress::progress_bar;

/// Maximum length of a line, in bytes.
pub(super) const MAX_LINE_BYTES: u64 = 1 << 20;
/// The size of the beginning from which the format is detected.
const DETECTION_BYTES: usize = 1 << 16;

/// The text of a file.
pub(super) type TextReader = BufReader<Box<dyn Read>>;

/// Opens a file or standard input, decompresses gzip, and shows the progress of reading.
pub(super) fn open(path: &Path) -> anyhow::Result<(TextReader, ProgressBar)> {
    let doing = || format!("reading {}", path.display());
    let (raw, size): (Box<dyn Read>, u64) = if path.as_os_str() == "-" {
        (Box::new(io::stdin()), 0)
    } else {
        let file = File::open(path).with_context(doing)?;
        let size = file.metadata().with_context(doing)?.len();
        (Box::new(file), size)
    };
    let bar = progress_bar(size, true);
    let mut raw = BufReader::new(bar.wrap_read(raw));
    let is_gzipped = raw.fill_buf().with_context(doing)?.starts_with(&[0x1f, 0x8b]);
    let text: Box<dyn Read> = if is_gzipped { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) };
    Ok((BufReader::with_capacity(DETECTION_BYTES, text), bar))
}

/// Detects the format of a text by its beginning.
pub(super) fn detect_format(text: &mut TextReader) -> io::Result<ImportFormat> {
    let beginning = String::from_utf8_lossy(text.fill_buf()?).into_owned();
    let beginning = beginning.trim_start_matches('\u{feff}').trim_start();
    if !beginning.starts_with('{') {
        return Ok(ImportFormat::Supabase);
    }
    let packed: String = beginning.chars().filter(|character| !character.is_whitespace()).take(10).collect();
    if packed.starts_with("{\"users\":[") {
        return Ok(ImportFormat::Firebase);
    }
    let first = beginning.lines().next().unwrap_or_default();
    let first: ImportRow = serde_json::from_str(first).unwrap_or_default();
    let is_auth0 = ["_id", "Id", "user_id", "passwordHash"].iter().any(|name| first.contains_key(*name));
    Ok(if is_auth0 { ImportFormat::Auth0 } else { ImportFormat::Basalt })
}

/// An object of a file.
pub(super) struct ParsedItem {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The object, or why it is invalid.
    pub row: Result<ImportRow, ImportError>,
}

/// Reads one object per line.
/// Empty lines are skipped.
pub(super) struct LineReader {
    text: TextReader,
    line: u64,
}

impl LineReader {
    /// Reads the lines of a text.
    pub(super) fn new(text: TextReader) -> Self {
        Self { text, line: 0 }
    }
}

impl Iterator for LineReader {
    type Item = io::Result<ParsedItem>;

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
                return Some(Ok(ParsedItem { line: self.line, row: parse_object(bytes) }));
            }
        }
    }
}

/// Returns the next line without its line end; `None` at the end of the text.
/// A longer line is truncated to [`MAX_LINE_BYTES`] bytes and one.
pub(super) fn next_line(text: &mut TextReader) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if text.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(line));
    }
    // Longer than allowed, or the last line: the rest of it is skipped.
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

fn parse_object(bytes: &[u8]) -> Result<ImportRow, ImportError> {
    if bytes.len() as u64 > MAX_LINE_BYTES {
        return Err(format!("longer than {MAX_LINE_BYTES} bytes"));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(row)) => Ok(row),
        Ok(_) => Err("a JSON object is wanted".to_owned()),
        Err(error) => Err(format!("no JSON: {error}")),
    }
}

/// Reads the objects of the first list in a JSON text, such as `{"users": [{…}, {…}]}`.
pub(super) struct ListReader {
    text: TextReader,
    line: u64,
    is_inside: bool,
    has_ended: bool,
}

impl ListReader {
    /// Reads the objects of a text.
    pub(super) fn new(json: TextReader) -> Self {
        Self { text: json, line: 1, is_inside: false, has_ended: false }
    }

    fn read_byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.text.fill_buf()?.first().copied();
        if byte.is_some() {
            self.text.consume(1);
        }
        self.line += u64::from(byte == Some(b'\n'));
        Ok(byte)
    }

    /// Reads the object after its first brace, truncated if it is too long.
    fn read_object_rest(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![b'{'];
        let (mut depth, mut in_text, mut is_escaped) = (1_u32, false, false);
        while depth > 0 {
            let Some(byte) = self.read_byte()? else { break };
            if bytes.len() as u64 <= MAX_LINE_BYTES {
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

    fn advance(&mut self) -> io::Result<Option<ParsedItem>> {
        while !self.has_ended {
            match self.read_byte()? {
                Some(b'[') if !self.is_inside => self.is_inside = true,
                Some(b'{') if self.is_inside => {
                    let line = self.line;
                    return Ok(Some(ParsedItem { line, row: parse_object(&self.read_object_rest()?) }));
                }
                Some(b']') | None => self.has_ended = true,
                Some(_) => {}
            }
        }
        Ok(None)
    }
}

impl Iterator for ListReader {
    type Item = io::Result<ParsedItem>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content: &str) -> TextReader {
        BufReader::new(Box::new(io::Cursor::new(content.to_owned().into_bytes())))
    }

    fn read_lines(items: impl Iterator<Item = io::Result<ParsedItem>>) -> Vec<(u64, bool)> {
        items.map(|item| item.expect("readable")).map(|item| (item.line, item.row.is_ok())).collect()
    }

    #[test]
    fn invalid_line_does_not_affect_others() {
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(2 << 20));
        let content = format!("\u{feff}{{}}\n\n{{\"a\"\n[]\n{long}\n{{}}");
        assert_eq!(
            read_lines(LineReader::new(text(&content))),
            [(1, true), (3, false), (4, false), (5, false), (6, true)]
        );
    }

    #[test]
    fn objects_of_a_list_are_read() {
        let content = "{\"users\": [\n{\"a\": \"}]{\\\"\"},\n{\"b\": {\"c\": []}}, {nonsense}\n]}";
        assert_eq!(read_lines(ListReader::new(text(content))), [(2, true), (3, true), (3, false)]);
        assert_eq!(read_lines(ListReader::new(text("{\"users\": [{\"a\""))), [(1, false)]);
        assert_eq!(read_lines(ListReader::new(text(""))), []);
    }

    #[test]
    fn format_is_detected_by_beginning() {
        for (content, format) in [
            ("{\"email\": \"a@b.co\"}\n", ImportFormat::Basalt),
            ("{ \"users\" : [ {", ImportFormat::Firebase),
            ("{\"_id\": {\"$oid\": \"1\"}, \"passwordHash\": \"x\"}\n", ImportFormat::Auth0),
            ("--\n-- PostgreSQL database dump\n", ImportFormat::Supabase),
            ("SET session_replication_role = replica;", ImportFormat::Supabase),
            ("", ImportFormat::Supabase),
        ] {
            assert_eq!(detect_format(&mut text(content)).expect("readable"), format, "{content}");
        }
    }
}
