//! Reads the rows of a CSV file, each within the limit of a line.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use gotrue_rules::domain::bulk::{ImportRow, firebase, table};
use serde_json::Value;

use super::read::{MAX_LINE_BYTES, ParsedItem, TextReader};

/// How rows become objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableKind {
    /// Members are named as in the header.
    Named,
    /// Members are named as in the header, in one spelling.
    Normalized,
    /// Firebase's columns, without a header.
    Firebase,
}

/// Returns the character that separates the fields of a header.
pub(super) fn find_delimiter(header: &str) -> u8 {
    let count = |delimiter: &u8| header.bytes().filter(|byte| byte == delimiter).count();
    // The last of equals wins: the comma.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

/// Reads at most so many bytes until the limit is renewed.
struct LimitedRead {
    text: TextReader,
    left: Rc<Cell<u64>>,
}

impl Read for LimitedRead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(into)?;
        let left = self.left.get().checked_sub(read as u64).ok_or_else(|| {
            let problem = format!("a row is longer than {MAX_LINE_BYTES} bytes: is a quotation mark open?");
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        self.left.set(left);
        Ok(read)
    }
}

/// The rows of a table.
pub(super) struct TableReader {
    records: csv::Reader<LimitedRead>,
    left: Rc<Cell<u64>>,
    header: Vec<String>,
    kind: TableKind,
}

impl TableReader {
    /// Reads the header of a table.
    pub(super) fn new(text: TextReader, delimiter: u8, kind: TableKind) -> io::Result<Self> {
        let left = Rc::new(Cell::new(MAX_LINE_BYTES));
        let mut records = csv::ReaderBuilder::new()
            .has_headers(kind != TableKind::Firebase)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(LimitedRead { text, left: Rc::clone(&left) });
        let header = if kind == TableKind::Firebase {
            Vec::new()
        } else {
            let header = records.byte_headers().map_err(io::Error::other)?;
            let name = |name: &[u8]| String::from_utf8_lossy(name).trim().trim_start_matches('\u{feff}').to_owned();
            header.iter().map(name).collect()
        };
        let header = match kind {
            TableKind::Normalized => header.iter().map(|name| table::normalize_name(name)).collect(),
            _ => header,
        };
        Ok(Self { records, left, header, kind })
    }

    fn build_object(&self, fields: Vec<String>) -> Result<ImportRow, String> {
        if self.kind == TableKind::Firebase {
            return if firebase::is_csv_row(&fields) {
                Ok(firebase::read_csv_row(&fields))
            } else {
                Err(format!("{} fields that are no user of Firebase", fields.len()))
            };
        }
        if fields.len() > self.header.len() {
            return Err(format!("{} fields for {} columns", fields.len(), self.header.len()));
        }
        let pairs = self.header.iter().cloned().zip(fields);
        Ok(pairs.filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name, Value::String(value))).collect())
    }
}

impl Iterator for TableReader {
    type Item = io::Result<ParsedItem>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left.set(MAX_LINE_BYTES);
        let mut record = csv::ByteRecord::new();
        match self.records.read_byte_record(&mut record) {
            Ok(false) => return None,
            Ok(true) => {}
            Err(error) => return Some(Err(io::Error::other(error))),
        }
        let line = record.position().map_or(0, csv::Position::line);
        let fields: Result<Vec<String>, _> =
            record.iter().map(|field| String::from_utf8(field.to_vec()).map(|text| text.trim().to_owned())).collect();
        let row = fields.map_err(|_| "UTF-8 is wanted".to_owned()).and_then(|fields| self.build_object(fields));
        Some(Ok(ParsedItem { line, row }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;

    fn read(content: &str, kind: TableKind) -> Vec<io::Result<ParsedItem>> {
        let text: TextReader = BufReader::new(Box::new(Cursor::new(content.to_owned().into_bytes())));
        let delimiter = find_delimiter(content.lines().next().unwrap_or_default());
        TableReader::new(text, delimiter, kind).map(Iterator::collect).unwrap_or_default()
    }

    #[test]
    fn rows_are_named_by_the_header() {
        let found = read("E-mail;Display name\na@b.co;\"Ann\n Lee\"\nb@b.co\nc@b.co;C;more\n", TableKind::Normalized);
        let rows: Vec<_> = found.into_iter().map(|item| item.expect("readable")).collect();
        assert_eq!(rows[0].row.as_ref().expect("a row")["display_name"], "Ann\n Lee");
        assert_eq!(rows[1].row.as_ref().expect("a row").len(), 1);
        assert!(rows[2].row.is_err());
        assert_eq!(rows[2].line, 5);
    }

    #[test]
    fn open_quotation_mark_is_refused_at_the_limit() {
        let content = format!("email\n\"{}", "x".repeat(2 << 20));
        assert!(read(&content, TableKind::Named)[0].as_ref().is_err_and(|error| error.to_string().contains("longer")));
    }

    proptest! {
        #[test]
        fn fields_round_trip(fields in proptest::collection::vec("[^\0\r]{1,20}", 1..6)) {
            let fields: Vec<String> = fields.iter().map(|field| format!("x{field}x")).collect();
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record((0..fields.len()).map(|at| format!("column{at}"))).expect("written");
            writer.write_record(&fields).expect("written");
            let content = String::from_utf8(writer.into_inner().expect("written")).expect("UTF-8");
            let rows = read(&content, TableKind::Named);
            let row = rows[0].as_ref().expect("readable").row.as_ref().expect("a row");
            prop_assert_eq!(row.values().map(|value| value.as_str().unwrap_or_default()).collect::<Vec<_>>(), fields);
        }

        #[test]
        fn arbitrary_text_does_not_panic(content in "(\\PC|\n|\"|,|;){0,80}") {
            for kind in [TableKind::Named, TableKind::Normalized, TableKind::Firebase] {
                read(&content, kind);
            }
        }
    }
}
