//! The accounts in a dump of a database: `COPY … FROM stdin` and `INSERT INTO … VALUES`, as `pg_dump` writes them. Whatever
//! else there is, is passed over.

use std::io;

use gotrue_rules::domain::bulk::{Row, Table};
use serde_json::Value;

use super::read::{Item, LONGEST, Text, next_line};

/// Rows of the tables that hold accounts.
pub struct Dump {
    text: Text,
    line: u64,
    state: State,
}

enum State {
    /// Between two statements.
    Outside,
    /// Among the lines of a `COPY`; none: of a table that is not wanted.
    Copy(Option<Columns>),
    /// Among the rows of an `INSERT`, with what has been read of them.
    Insert(Columns, String),
}

#[derive(Clone)]
struct Columns {
    table: Table,
    names: Vec<String>,
}

/// A row of a table.
pub struct Found {
    /// The table.
    pub table: Table,
    /// The row.
    pub item: Item,
}

impl Dump {
    /// The rows of a text.
    pub fn of(text: Text) -> Self {
        Self { text, line: 0, state: State::Outside }
    }

    fn advance(&mut self) -> io::Result<Option<Found>> {
        loop {
            if let State::Insert(columns, pending) = &mut self.state {
                match tuple(pending) {
                    Tuple::Whole(values, used) => {
                        pending.drain(..used);
                        let columns = columns.clone();
                        return Ok(Some(columns.found(self.line, values)));
                    }
                    Tuple::End => self.state = State::Outside,
                    Tuple::Broken => {
                        let table = columns.table;
                        self.state = State::Outside;
                        let row = Err(
                            "these values cannot be read; what follows in this statement is passed over".to_owned()
                        );
                        return Ok(Some(Found { table, item: Item { line: self.line, row } }));
                    }
                    Tuple::Part if pending.len() as u64 > LONGEST => {
                        let table = columns.table;
                        self.state = State::Outside;
                        let row =
                            Err(format!("longer than {LONGEST} bytes; what follows in this statement is passed over"));
                        return Ok(Some(Found { table, item: Item { line: self.line, row } }));
                    }
                    Tuple::Part => {}
                }
            }
            let Some(line) = next_line(&mut self.text)? else { return Ok(None) };
            self.line += 1;
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some(found) = self.take(&line) {
                return Ok(Some(found));
            }
        }
    }

    fn take(&mut self, line: &str) -> Option<Found> {
        match &mut self.state {
            State::Outside => {
                if let Some(rest) = line.strip_prefix("COPY ") {
                    self.state = State::Copy(Columns::read(rest).map(|(columns, _)| columns));
                } else if let Some(rest) = line.strip_prefix("INSERT INTO ")
                    && let Some((columns, rest)) = Columns::read(rest)
                    && let Some(values) = rest.trim_start().strip_prefix("VALUES")
                {
                    self.state = State::Insert(columns, values.to_owned());
                }
                None
            }
            State::Copy(_) if line.trim_end() == "\\." => {
                self.state = State::Outside;
                None
            }
            State::Copy(None) => None,
            State::Copy(Some(columns)) => {
                let values = line.trim_end_matches('\r').split('\t').map(unescaped).collect();
                Some(columns.clone().found(self.line, values))
            }
            State::Insert(_, pending) => {
                pending.push('\n');
                pending.push_str(line);
                None
            }
        }
    }
}

impl Iterator for Dump {
    type Item = io::Result<Found>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

impl Columns {
    /// The table and its columns, if it is one of ours: `auth.users (id, email)`, with or without quotes; and the rest.
    fn read(text: &str) -> Option<(Self, &str)> {
        let (name, rest) = text.split_once('(')?;
        let name = name.trim().replace('"', "");
        let table = Table::from_name(name.strip_prefix("auth.")?)?;
        let (columns, rest) = rest.split_once(')')?;
        let names = columns.split(',').map(|column| column.trim().trim_matches('"').to_owned()).collect();
        Some((Self { table, names }, rest))
    }

    /// Columns that ours do not have, of a newer schema, are left out.
    fn found(self, line: u64, values: Vec<Option<String>>) -> Found {
        let table = self.table;
        let row = if values.len() == self.names.len() {
            let pairs = self.names.into_iter().zip(values).filter(|(name, _)| table.has(name));
            Ok(pairs.map(|(name, value)| (name, value.map_or(Value::Null, Value::String))).collect::<Row>())
        } else {
            Err(format!("{} values for {} columns", values.len(), self.names.len()))
        };
        Found { table, item: Item { line, row } }
    }
}

/// A field of a `COPY`; none for `\N`.
fn unescaped(field: &str) -> Option<String> {
    if field == "\\N" {
        return None;
    }
    let mut text = String::with_capacity(field.len());
    let mut letters = field.chars();
    while let Some(letter) = letters.next() {
        text.push(if letter == '\\' { letters.next().map_or('\\', escaped) } else { letter });
    }
    Some(text)
}

fn escaped(letter: char) -> char {
    match letter {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        other => other,
    }
}

/// What the text of an `INSERT` begins with.
enum Tuple {
    /// A row, and how long it is in the text.
    Whole(Vec<Option<String>>, usize),
    /// A row that goes on in the next line.
    Part,
    /// The end of the statement.
    End,
    /// No row at all.
    Broken,
}

fn tuple(text: &str) -> Tuple {
    let start = text.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ',');
    if start.is_empty() {
        return Tuple::Part;
    }
    let Some(mut rest) = start.strip_prefix('(') else {
        let is_end = start.starts_with(';') || start.starts_with("ON CONFLICT");
        return if is_end { Tuple::End } else { Tuple::Broken };
    };
    let mut values = Vec::new();
    loop {
        let Some((value, after)) = literal(rest.trim_start()) else { return Tuple::Part };
        values.push(value);
        // A cast, such as ::jsonb, says nothing that the column does not say.
        let after = after.trim_start().strip_prefix("::").map_or(after, |cast| {
            cast.trim_start_matches(|letter: char| letter.is_alphanumeric() || "_.\"[]".contains(letter))
        });
        let after = after.trim_start();
        match after.chars().next() {
            Some(',') => rest = &after[1..],
            Some(')') => return Tuple::Whole(values, text.len() - after.len() + 1),
            Some(_) => return Tuple::Broken,
            None => return Tuple::Part,
        }
    }
}

/// The value at the beginning, none for `NULL`, and what comes after it; none at all while its end is missing.
fn literal(text: &str) -> Option<(Option<String>, &str)> {
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
    let mut letters = quoted.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' if letters.next_if(|(_, next)| *next == '\'').is_some() => value.push('\''),
            '\'' => return Some((Some(value), &quoted[at + 1..])),
            '\\' if has_escapes => value.push(escaped(letters.next()?.1)),
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

    fn rows(content: &str) -> Vec<(Table, u64, Result<Row, String>)> {
        let text: Text = BufReader::new(Box::new(Cursor::new(content.to_owned().into_bytes())));
        Dump::of(text).map(|found| found.expect("readable")).map(|it| (it.table, it.item.line, it.item.row)).collect()
    }

    fn row(pairs: &[(&str, Option<&str>)]) -> Row {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.map_or(Value::Null, Into::into))).collect()
    }

    #[test]
    fn rows_of_a_copy_are_found() {
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
    fn rows_of_an_insert_are_found() {
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
            (Table::Identities, Ok(row(&[("id", Some("3")), ("provider_id", Some("4"))])))
        );
        assert_eq!(found.len(), 3);
    }

    proptest! {
        #[test]
        fn nothing_that_is_read_breaks_the_reader(content in "(INSERT INTO auth.users \\(id\\) VALUES |COPY auth.users \\(id\\) FROM stdin;\n|[ (),';\\\\E:a\n\t]){0,40}") {
            rows(&content);
        }

        #[test]
        fn a_quoted_text_is_read_as_it_was_written(value in "[^\0\r]{0,40}") {
            let content = format!("INSERT INTO auth.users (id) VALUES ('{}');\n", value.replace('\'', "''"));
            prop_assert_eq!(&rows(&content)[0].2, &Ok(row(&[("id", Some(&value))])));
        }
    }
}
