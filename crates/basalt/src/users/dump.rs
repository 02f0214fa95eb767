//! Reads accounts from a database dump as `pg_dump` writes it.
//! It parses `COPY … FROM stdin` and `INSERT INTO … VALUES`. All other statements are skipped.

use std::io;

use gotrue_rules::domain::bulk::{ImportRow, ImportTable};
use serde_json::Value;

use super::read::{MAX_LINE_BYTES, ParsedItem, TextReader, next_line};

/// The rows of the account tables in a dump.
pub(super) struct DumpReader {
    text: TextReader,
    line: u64,
    state: DumpState,
}

enum DumpState {
    /// Between two statements.
    Outside,
    /// Within the lines of a `COPY`; `None` for an ignored table.
    Copy(Option<Columns>),
    /// Within the rows of an `INSERT`, with the text not parsed yet.
    Insert(Columns, String),
}

#[derive(Clone)]
struct Columns {
    table: ImportTable,
    names: Vec<String>,
}

/// A row of a table.
pub(super) struct DumpRow {
    /// The table.
    pub table: ImportTable,
    /// The row.
    pub item: ParsedItem,
}

impl DumpReader {
    /// Reads the rows of a text.
    pub(super) fn new(text: TextReader) -> Self {
        Self { text, line: 0, state: DumpState::Outside }
    }

    fn advance(&mut self) -> io::Result<Option<DumpRow>> {
        loop {
            if let DumpState::Insert(columns, pending) = &mut self.state {
                match parse_tuple(pending) {
                    ParsedTuple::Complete(values, used) => {
                        pending.drain(..used);
                        let columns = columns.clone();
                        return Ok(Some(columns.into_row(self.line, values)));
                    }
                    ParsedTuple::End => self.state = DumpState::Outside,
                    ParsedTuple::Invalid => {
                        let table = columns.table;
                        self.state = DumpState::Outside;
                        let row = Err(
                            "these values cannot be read; what follows in this statement is passed over".to_owned()
                        );
                        return Ok(Some(DumpRow { table, item: ParsedItem { line: self.line, row } }));
                    }
                    ParsedTuple::Incomplete if pending.len() as u64 > MAX_LINE_BYTES => {
                        let table = columns.table;
                        self.state = DumpState::Outside;
                        let row = Err(format!(
                            "longer than {MAX_LINE_BYTES} bytes; what follows in this statement is passed over"
                        ));
                        return Ok(Some(DumpRow { table, item: ParsedItem { line: self.line, row } }));
                    }
                    ParsedTuple::Incomplete => {}
                }
            }
            let Some(line) = next_line(&mut self.text)? else { return Ok(None) };
            self.line += 1;
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some(found) = self.process_line(&line) {
                return Ok(Some(found));
            }
        }
    }

    fn process_line(&mut self, line: &str) -> Option<DumpRow> {
        match &mut self.state {
            DumpState::Outside => {
                if let Some(rest) = line.strip_prefix("COPY ") {
                    self.state = DumpState::Copy(Columns::parse(rest).map(|(columns, _)| columns));
                } else if let Some(rest) = line.strip_prefix("INSERT INTO ")
                    && let Some((columns, rest)) = Columns::parse(rest)
                    && let Some(values) = rest.trim_start().strip_prefix("VALUES")
                {
                    self.state = DumpState::Insert(columns, values.to_owned());
                }
                None
            }
            DumpState::Copy(_) if line.trim_end() == "\\." => {
                self.state = DumpState::Outside;
                None
            }
            DumpState::Copy(None) => None,
            DumpState::Copy(Some(columns)) => {
                let values = line.trim_end_matches('\r').split('\t').map(decode_field).collect();
                Some(columns.clone().into_row(self.line, values))
            }
            DumpState::Insert(_, pending) => {
                pending.push('\n');
                pending.push_str(line);
                None
            }
        }
    }
}

impl Iterator for DumpReader {
    type Item = io::Result<DumpRow>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

impl Columns {
    /// Parses a table and its columns, and returns them with the rest; `None` for other tables.
    /// The form is `auth.users (id, email)`, with or without quotes.
    fn parse(text: &str) -> Option<(Self, &str)> {
        let (name, rest) = text.split_once('(')?;
        let name = name.trim().replace('"', "");
        let table = ImportTable::from_name(name.strip_prefix("auth.")?)?;
        let (columns, rest) = rest.split_once(')')?;
        let names = columns.split(',').map(|column| column.trim().trim_matches('"').to_owned()).collect();
        Some((Self { table, names }, rest))
    }

    /// Creates a row.
    /// Unknown columns, of a newer schema, are omitted.
    fn into_row(self, line: u64, values: Vec<Option<String>>) -> DumpRow {
        let table = self.table;
        let row = if values.len() == self.names.len() {
            let pairs = self.names.into_iter().zip(values).filter(|(name, _)| table.has_column(name));
            Ok(pairs.map(|(name, value)| (name, value.map_or(Value::Null, Value::String))).collect::<ImportRow>())
        } else {
            Err(format!("{} values for {} columns", values.len(), self.names.len()))
        };
        DumpRow { table, item: ParsedItem { line, row } }
    }
}

/// Decodes a field of a `COPY`; `None` for `\N`.
fn decode_field(field: &str) -> Option<String> {
    if field == "\\N" {
        return None;
    }
    let mut text = String::with_capacity(field.len());
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        text.push(if character == '\\' { characters.next().map_or('\\', unescape) } else { character });
    }
    Some(text)
}

fn unescape(character: char) -> char {
    match character {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        other => other,
    }
}

/// The beginning of the text of an `INSERT`.
enum ParsedTuple {
    /// A row, and its length in the text.
    Complete(Vec<Option<String>>, usize),
    /// A row that continues on the next line.
    Incomplete,
    /// The end of the statement.
    End,
    /// Not a row.
    Invalid,
}

fn parse_tuple(text: &str) -> ParsedTuple {
    let start = text.trim_start_matches(|character: char| character.is_whitespace() || character == ',');
    if start.is_empty() {
        return ParsedTuple::Incomplete;
    }
    let Some(mut rest) = start.strip_prefix('(') else {
        let is_end = start.starts_with(';') || start.starts_with("ON CONFLICT");
        return if is_end { ParsedTuple::End } else { ParsedTuple::Invalid };
    };
    let mut values = Vec::new();
    loop {
        let Some((value, after)) = parse_literal(rest.trim_start()) else { return ParsedTuple::Incomplete };
        values.push(value);
        // A cast such as ::jsonb adds nothing to the column's type.
        let after = after.trim_start().strip_prefix("::").map_or(after, |cast| {
            cast.trim_start_matches(|character: char| character.is_alphanumeric() || "_.\"[]".contains(character))
        });
        let after = after.trim_start();
        match after.chars().next() {
            Some(',') => rest = &after[1..],
            Some(')') => return ParsedTuple::Complete(values, text.len() - after.len() + 1),
            Some(_) => return ParsedTuple::Invalid,
            None => return ParsedTuple::Incomplete,
        }
    }
}

/// Parses a literal into its value (`None` for `NULL`) and the rest; `None` if its end is missing.
fn parse_literal(text: &str) -> Option<(Option<String>, &str)> {
    let (has_escapes, quoted) = match text.as_bytes() {
        [b'E' | b'e', b'\'', ..] => (true, &text[2..]),
        [b'\'', ..] => (false, &text[1..]),
        _ => {
            let end = text.find([',', ')', ':'])?;
            let word = text[..end].trim();
            let value = (!word.eq_ignore_ascii_case("null")).then(|| word.to_owned());
            return Some((value, &text[end..]));
        }
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' if characters.next_if(|(_, next)| *next == '\'').is_some() => value.push('\''),
            '\'' => return Some((Some(value), &quoted[at + 1..])),
            '\\' if has_escapes => value.push(unescape(characters.next()?.1)),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;

    fn rows(content: &str) -> Vec<(ImportTable, u64, Result<ImportRow, String>)> {
        let text: TextReader = BufReader::new(Box::new(Cursor::new(content.to_owned().into_bytes())));
        DumpReader::new(text)
            .map(|found| found.expect("readable"))
            .map(|it| (it.table, it.item.line, it.item.row))
            .collect()
    }

    fn row(pairs: &[(&str, Option<&str>)]) -> ImportRow {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.map_or(Value::Null, Into::into))).collect()
    }

    #[test]
    fn copy_rows_are_read() {
        let content = "SET a = b;\nCOPY public.users (id) FROM stdin;\n1\n\\.\n\
                       COPY auth.users (id, email, raw_user_meta_data, newer) FROM stdin;\n\
                       1\ta@b.co\t{\"a\": \"x\\\\ny\"}\t7\n2\t\\N\n\\.\n";
        let found = rows(content);
        assert_eq!(
            found[0].2,
            Ok(row(&[
                ("id", Some("1")),
                ("email", Some("a@b.co")),
                ("raw_user_meta_data", Some("{\"a\": \"x\\ny\"}"))
            ]))
        );
        assert_eq!((found[1].1, found[1].2.is_err()), (7, true));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn insert_rows_are_read() {
        let content = "INSERT INTO \"auth\".\"users\" (\"id\", \"email\", \"raw_app_meta_data\") VALUES\n\
                       \t('1', 'o''hara@b.co', '{\"a\": \"(x)\"}'::jsonb),\n\t('2', NULL, E'a\\'b\n,c');\n\
                       INSERT INTO auth.identities (id, provider_id) VALUES ('3', 4) ON CONFLICT DO NOTHING;\n";
        let found = rows(content);
        assert_eq!(
            found[0].2,
            Ok(row(&[
                ("id", Some("1")),
                ("email", Some("o'hara@b.co")),
                ("raw_app_meta_data", Some("{\"a\": \"(x)\"}"))
            ]))
        );
        assert_eq!(found[1].2, Ok(row(&[("id", Some("2")), ("email", None), ("raw_app_meta_data", Some("a'b\n,c"))])));
        assert_eq!(
            (found[2].0, found[2].2.clone()),
            (ImportTable::Identities, Ok(row(&[("id", Some("3")), ("provider_id", Some("4"))])))
        );
        assert_eq!(found.len(), 3);
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(content in "(INSERT INTO auth.users \\(id\\) VALUES |COPY auth.users \\(id\\) FROM stdin;\n|[ (),';\\\\E:a\n\t]){0,40}") {
            rows(&content);
        }

        #[test]
        fn quoted_text_round_trips(value in "[^\0\r]{0,40}") {
            let content = format!("INSERT INTO auth.users (id) VALUES ('{}');\n", value.replace('\'', "''"));
            prop_assert_eq!(&rows(&content)[0].2, &Ok(row(&[("id", Some(&value))])));
        }
    }
}
