//! Streaming readers of account files: only a few lines are in memory, whatever the file's size.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail};
use encoding_rs_io::DecodeReaderBytesBuilder;
use flate2::bufread::MultiGzDecoder;
use gotrue_rules::domain::bulk::{ImportError, ImportRow};
use indicatif::ProgressBar;
use serde_json::Value;

use crate::progress::progress_bar;

/// Maximum length of a line, in bytes.
pub(super) const MAX_LINE_BYTES: u64 = 1 << 20;
/// The size of the beginning from which the format is detected.
const DETECTION_BYTES: usize = 1 << 16;

/// The text of a file.
pub(super) type TextReader = BufReader<Box<dyn Read>>;

/// Opens a file or standard input, decompresses gzip, decodes UTF-16, and shows the progress of reading.
pub(super) fn open(path: &Path) -> anyhow::Result<(TextReader, ProgressBar)> {
    let doing = || format!("reading {}", path.display());
    let (raw, size): (Box<dyn Read>, u64) = if path.as_os_str() == "-" {
        (Box::new(io::stdin()), 0)
    } else {
        let file = File::open(path).with_context(doing)?;
        let metadata = file.metadata().with_context(doing)?;
        if metadata.is_dir() {
            bail!(
                "{0} is a folder: name a file in it; a dump by pg_dump --format=directory is converted by\n  \
                 pg_restore --data-only --schema auth --file auth.sql {0}",
                path.display()
            );
        }
        (Box::new(file), metadata.len())
    };
    let bar = progress_bar(size, true);
    let mut raw = BufReader::with_capacity(DETECTION_BYTES, bar.wrap_read(raw));
    let is_gzipped = raw.fill_buf().with_context(doing)?.starts_with(&[0x1f, 0x8b]);
    let plain: Box<dyn Read> = if is_gzipped { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) };
    let mut plain = BufReader::with_capacity(DETECTION_BYTES, plain);
    let beginning = plain.fill_buf().with_context(doing)?;
    if let Some(problem) = describe_binary(beginning, &path.display().to_string()) {
        bail!("{problem}");
    }
    let encoding = match beginning {
        [0, first, ..] if *first != 0 => Some(encoding_rs::UTF_16BE),
        [first, 0, ..] if *first != 0 => Some(encoding_rs::UTF_16LE),
        _ => None,
    };
    // A byte order mark decides before this; without either the bytes pass as they are.
    let text = DecodeReaderBytesBuilder::new()
        .encoding(encoding)
        .bom_override(true)
        .strip_bom(true)
        .utf8_passthru(true)
        .build(plain);
    Ok((BufReader::with_capacity(DETECTION_BYTES, Box::new(text)), bar))
}

/// Returns what a binary file is and how its accounts are read; `None` for a text.
fn describe_binary(beginning: &[u8], name: &str) -> Option<String> {
    let import = "basalt users import";
    let forms: [(&[u8], String); 7] = [
        (
            b"PGDMP",
            format!(
                "{name} is a dump in PostgreSQL's custom format (pg_dump -Fc); convert it and import the result:\n  \
                 pg_restore --data-only --schema auth --file auth.sql {name}\n  {import} auth.sql"
            ),
        ),
        (
            b"toc.dat\0",
            format!(
                "{name} is a dump in PostgreSQL's tar format (pg_dump -Ft); convert it and import the result:\n  \
                 pg_restore --data-only --schema auth --file auth.sql {name}\n  {import} auth.sql"
            ),
        ),
        (
            b"SQLite format 3\0",
            format!(
                "{name} is a database of SQLite; write its users as JSON and import the result:\n  \
                 sqlite3 -json {name} 'SELECT * FROM users' > users.json\n  {import} users.json"
            ),
        ),
        (b"PK\x03\x04", format!("{name} is a ZIP archive or a spreadsheet: unpack it, or save it as CSV")),
        (b"\x28\xb5\x2f\xfd", format!("{name} is compressed by Zstandard: zstd -dc {name} | {import} -")),
        (b"\xfd7zXZ\0", format!("{name} is compressed by xz: xz -dc {name} | {import} -")),
        (b"BZh", format!("{name} is compressed by bzip2: bzip2 -dc {name} | {import} -")),
    ];
    let found = forms.into_iter().find(|(magic, _)| beginning.starts_with(magic));
    found.map(|(_, problem)| problem)
}

/// Returns the beginning of a text, which is read again afterwards.
pub(super) fn peek(text: &mut TextReader) -> io::Result<String> {
    let mut beginning = Vec::new();
    text.by_ref().take(DETECTION_BYTES as u64).read_to_end(&mut beginning)?;
    let peeked = String::from_utf8_lossy(&beginning).trim_start_matches('\u{feff}').to_owned();
    let empty: TextReader = BufReader::new(Box::new(io::empty()));
    let rest = std::mem::replace(text, empty);
    *text = BufReader::with_capacity(DETECTION_BYTES, Box::new(io::Cursor::new(beginning).chain(rest)));
    Ok(peeked)
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

/// A line, or a part of a long one.
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// Whether it continues the line of the piece before.
    pub(super) is_continued: bool,
    /// Whether the line ends with it.
    pub(super) is_last: bool,
}

/// Returns the next line without its line end, or about [`MAX_LINE_BYTES`] bytes of it; `None` at the end of the text.
///
/// A part ends with a letter, a digit, a blank or a comma where it can, so that it separates no character and no pair of quotation
/// marks.
pub(super) fn next_piece(text: &mut TextReader, is_continued: bool) -> io::Result<Option<Piece>> {
    let mut bytes = Vec::new();
    if text.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)? == 0 {
        // The part before was the end of the text.
        return Ok(is_continued.then_some(Piece { bytes, is_continued, is_last: true }));
    }
    let is_separable = |byte: u8| byte.is_ascii_alphanumeric() || b" ,".contains(&byte);
    while bytes.last().is_some_and(|last| *last != b'\n' && !is_separable(*last)) {
        let Some(next) = text.fill_buf()?.first().copied() else { break };
        text.consume(1);
        bytes.push(next);
        if bytes.len() as u64 >= 2 * MAX_LINE_BYTES && next.is_ascii() {
            break;
        }
    }
    let is_last = bytes.last() == Some(&b'\n');
    if is_last {
        bytes.pop();
    }
    let is_last = is_last || text.fill_buf()?.is_empty();
    Ok(Some(Piece { bytes, is_continued, is_last }))
}

pub(super) fn parse_object(bytes: &[u8]) -> Result<ImportRow, ImportError> {
    if bytes.len() as u64 > MAX_LINE_BYTES {
        return Err(format!("longer than {MAX_LINE_BYTES} bytes"));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(row)) => Ok(row),
        Ok(_) => Err("a JSON object is wanted".to_owned()),
        Err(error) => Err(format!("no JSON: {error}")),
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
    fn beginning_is_read_again() {
        let mut read = text("{\"a\": 1}\n");
        assert_eq!(peek(&mut read).expect("readable"), "{\"a\": 1}\n");
        assert_eq!(read_lines(LineReader::new(read)), [(1, true)]);
    }

    #[test]
    fn binary_files_are_named_with_the_command_that_reads_them() {
        for (beginning, wanted) in [
            (&b"PGDMP\x01"[..], "pg_restore --data-only --schema auth"),
            (b"toc.dat\0", "pg_restore"),
            (b"SQLite format 3\0", "sqlite3 -json"),
            (b"PK\x03\x04", "ZIP"),
            (b"\x28\xb5\x2f\xfd", "zstd -dc"),
        ] {
            assert!(describe_binary(beginning, "file").is_some_and(|text| text.contains(wanted)), "{wanted}");
        }
        assert_eq!(describe_binary(b"{}", "file"), None);
    }
}
