//! Reads accounts from a database dump as `pg_dump` writes it.
//! It parses `COPY … FROM stdin` and `INSERT INTO … VALUES`. All other statements are skipped.

use std::collections::HashMap;
use std::io;

use gotrue_rules::domain::bulk::{ImportRow, ImportTable};
use serde_json::Value;

use super::read::{MAX_LINE_BYTES, ParsedItem, TextReader, next_piece};
use super::skip::Open;

/// The names of columns by table, in the order of the table.
pub(super) type TableColumns = HashMap<String, Vec<String>>;

/// The rows of the auth schema in a dump.
pub(super) struct DumpReader {
    text: TextReader,
    line: u64,
    /// Whether the line goes on after the part that was read.
    is_within_line: bool,
    state: DumpState,
    /// The order of columns for statements that do not list them: of the dump's tables, else of this database's.
    columns: TableColumns,
    /// Whether names without a schema are of the schema `auth`.
    is_auth_default: bool,
}

enum DumpState {
    /// Between two statements.
    Outside,
    /// Within a statement that is passed over.
    Skipped(Open),
    /// Within the columns of a `CREATE TABLE`.
    Create(String, Vec<String>),
    /// Within the lines of a `COPY`; `None` for a table of another schema.
    Copy(Option<Columns>),
    /// Before the rows of an `INSERT`, with its text so far.
    InsertHead(String),
    /// Within the rows of an `INSERT`, with the text not parsed yet.
    Insert(Columns, PendingRows),
}

/// The text of rows of an `INSERT` that are not parsed yet. Each byte is looked at a limited number of times.
#[derive(Default)]
struct PendingRows {
    text: String,
    /// Where the first row begins that is not parsed.
    start: usize,
    /// Whether the first row may be complete.
    is_parsable: bool,
    /// What is open at the end of the text, and the number of open parentheses, while the first row is incomplete.
    open: Open,
    depth: usize,
    /// Whether parentheses do not tell where the row ends.
    is_unclear: bool,
}

impl PendingRows {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), is_parsable: true, ..Self::default() }
    }

    fn rest(&self) -> &str {
        &self.text[self.start..]
    }

    /// Removes a parsed row. The text is moved only when half of it is parsed.
    fn consume(&mut self, length: usize) {
        self.start += length;
        if self.start * 2 >= self.text.len() {
            self.text.drain(..self.start);
            self.start = 0;
        }
    }

    /// Waits until the first row, which is incomplete, may have ended.
    fn wait(&mut self) {
        (self.open, self.depth, self.is_parsable) = (Open::default(), 0, false);
        let rest = self.text.split_off(self.start);
        self.text.clear();
        self.start = 0;
        let has_ended = rest.split('\n').any(|line| self.scan(line));
        self.text = rest;
        // The parser says that it goes on, whatever the parentheses say: only the parser knows then, such as in ON CONFLICT (id).
        self.is_unclear = has_ended;
    }

    /// Adds a line.
    fn push_line(&mut self, line: &str) {
        self.text.push('\n');
        self.text.push_str(line);
        self.is_parsable = self.is_parsable || self.is_unclear || self.scan(line);
    }

    /// Adds a further part of a long line.
    fn push_part(&mut self, part: &str) {
        self.text.push_str(part);
        self.is_parsable = true;
    }

    /// Returns whether a row or the statement ends in the line.
    fn scan(&mut self, line: &str) -> bool {
        let depth = &mut self.depth;
        let end = self.open.scan_until(line, |byte| {
            match byte {
                b'(' => *depth += 1,
                b')' => *depth = depth.saturating_sub(1),
                _ => {}
            }
            *depth == 0 && matches!(byte, b')' | b';')
        });
        end.is_some()
    }
}

#[derive(Clone)]
struct Columns {
    table: String,
    names: Vec<String>,
}

/// A row of a table.
pub(super) struct DumpRow {
    /// The table's name without its schema.
    pub table: String,
    /// The row.
    pub item: ParsedItem,
    /// Columns with a value that no column here takes.
    pub omitted: Vec<String>,
}

impl DumpRow {
    /// Returns the table, if an import fills it.
    pub(super) fn import_table(&self) -> Option<ImportTable> {
        ImportTable::from_name(&self.table)
    }

    fn error(table: &str, line: u64, problem: String) -> Self {
        Self { table: table.to_owned(), item: ParsedItem { line, row: Err(problem) }, omitted: Vec::new() }
    }
}

impl DumpReader {
    /// Reads the rows of a text.
    pub(super) fn new(text: TextReader, columns: TableColumns) -> Self {
        Self { text, line: 0, is_within_line: false, state: DumpState::Outside, columns, is_auth_default: false }
    }

    fn advance(&mut self) -> io::Result<Option<DumpRow>> {
        loop {
            if let DumpState::Insert(columns, pending) = &mut self.state
                && pending.is_parsable
            {
                match parse_tuple(pending.rest()) {
                    ParsedTuple::Complete(values, used) => {
                        pending.consume(used);
                        let columns = columns.clone();
                        return Ok(Some(columns.into_row(self.line, values)));
                    }
                    ParsedTuple::End(at) => {
                        let rest = pending.rest()[at..].to_owned();
                        self.state = DumpState::Outside;
                        if let Some(found) = self.process_line(&rest) {
                            return Ok(Some(found));
                        }
                        continue;
                    }
                    ParsedTuple::Invalid => {
                        let problem = "these values cannot be read; what follows in this statement is passed over";
                        return Ok(self.refuse_values(problem.to_owned()));
                    }
                    ParsedTuple::Incomplete => pending.wait(),
                }
            }
            if let DumpState::Insert(_, pending) = &self.state
                && pending.rest().len() as u64 > MAX_LINE_BYTES
            {
                let problem =
                    format!("longer than {MAX_LINE_BYTES} bytes; what follows in this statement is passed over");
                return Ok(self.refuse_values(problem));
            }
            let Some(piece) = next_piece(&mut self.text, self.is_within_line)? else { return Ok(self.finish()) };
            self.is_within_line = !piece.is_last;
            self.line += u64::from(!piece.is_continued);
            let line = String::from_utf8_lossy(&piece.bytes).into_owned();
            let found = match (piece.is_continued, piece.is_last) {
                (true, _) => self.continue_line(&line),
                (false, true) => self.process_line(&line),
                (false, false) => self.begin_long_line(&line),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Passes over the rest of an `INSERT` whose values cannot be read.
    fn refuse_values(&mut self, problem: String) -> Option<DumpRow> {
        let DumpState::Insert(columns, pending) = std::mem::replace(&mut self.state, DumpState::Outside) else {
            return None;
        };
        self.skip(pending.rest());
        Some(DumpRow::error(&columns.table, self.line, problem))
    }

    /// Reads the first part of a line that is longer than a row may be.
    fn begin_long_line(&mut self, part: &str) -> Option<DumpRow> {
        match &self.state {
            // A row of COPY is a line.
            DumpState::Copy(Some(columns)) => {
                Some(DumpRow::error(&columns.table, self.line, format!("longer than {MAX_LINE_BYTES} bytes")))
            }
            _ => self.process_line(part),
        }
    }

    /// Reads a further part of a long line.
    fn continue_line(&mut self, part: &str) -> Option<DumpRow> {
        match &mut self.state {
            DumpState::Insert(_, pending) => {
                pending.push_part(part);
                None
            }
            DumpState::InsertHead(pending) => {
                pending.push_str(part);
                let pending = std::mem::take(pending);
                self.begin_insert(pending)
            }
            DumpState::Skipped(open) => {
                if open.scan(part).is_some() {
                    self.state = DumpState::Outside;
                }
                None
            }
            // The rest of a row of COPY, of a comment, or of a line whose statement has ended.
            DumpState::Copy(_) | DumpState::Create(..) | DumpState::Outside => None,
        }
    }

    /// Reports a statement that the end of the text cuts off.
    fn finish(&mut self) -> Option<DumpRow> {
        match std::mem::replace(&mut self.state, DumpState::Outside) {
            DumpState::Copy(Some(columns)) => {
                let problem = "the COPY has no end: the file is cut off".to_owned();
                Some(DumpRow::error(&columns.table, self.line, problem))
            }
            DumpState::Insert(columns, pending) if !pending.rest().trim().is_empty() => {
                let problem = "the INSERT has no end: the file is cut off".to_owned();
                Some(DumpRow::error(&columns.table, self.line, problem))
            }
            DumpState::Copy(None) | DumpState::Skipped(_) => {
                let problem = "a statement has no end: the file is cut off".to_owned();
                Some(DumpRow::error(ImportTable::Users.name(), self.line, problem))
            }
            _ => None,
        }
    }

    /// Passes over a statement that begins with this text, to its end outside of literals.
    ///
    /// What follows on the last line is passed over, too: `pg_dump` begins statements on lines of their own.
    fn skip(&mut self, text: &str) {
        let mut open = Open::default();
        let has_ended = text.split('\n').any(|line| open.scan(line).is_some());
        // A comment alone ends without a `;`.
        let is_comment = text.starts_with("/*") && open == Open::Nothing && text.trim_end().ends_with("*/");
        self.state = if has_ended || is_comment { DumpState::Outside } else { DumpState::Skipped(open) };
    }

    fn process_line(&mut self, line: &str) -> Option<DumpRow> {
        match &mut self.state {
            DumpState::Outside => self.begin_statement(line),
            DumpState::Skipped(open) => {
                if open.scan(line).is_some() {
                    self.state = DumpState::Outside;
                }
                None
            }
            DumpState::Create(..) => {
                self.read_definition(line);
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
            DumpState::InsertHead(pending) => {
                pending.push('\n');
                pending.push_str(line);
                let pending = std::mem::take(pending);
                self.begin_insert(pending)
            }
            DumpState::Insert(_, pending) => {
                pending.push_line(line);
                None
            }
        }
    }

    fn begin_statement(&mut self, line: &str) -> Option<DumpRow> {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with("--") || line.starts_with('\\') {
            return None;
        }
        let words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
        let has_lines = words.windows(2).any(|pair| pair[0] == "from" && pair[1].trim_end_matches(';') == "stdin");
        if words[0] == "copy" && has_lines {
            let rest = &line["copy".len()..];
            let columns = self.parse_columns(rest);
            let is_text = columns.as_ref().is_none_or(|(_, options)| !options.to_ascii_lowercase().contains("csv"));
            let table = columns.as_ref().map(|(columns, _)| columns.table.clone()).unwrap_or_default();
            self.state = DumpState::Copy(columns.filter(|_| is_text).map(|(columns, _)| columns));
            if !is_text {
                let problem = "COPY as CSV is not read: use the text format, as pg_dump does".to_owned();
                return Some(DumpRow::error(&table, self.line, problem));
            }
        } else if strip_word(line, "INSERT INTO").is_some() {
            return self.begin_insert(line.to_owned());
        } else if let Some(rest) = strip_word(line, "CREATE TABLE ") {
            let rest = strip_word(rest, "IF NOT EXISTS ").unwrap_or(rest);
            // pg_dump writes a column per line; other forms leave the order of this database's table.
            match self.parse_table(rest) {
                Some((table, after)) if after.trim() == "(" => self.state = DumpState::Create(table, Vec::new()),
                _ => self.skip(line),
            }
        } else if let Some(rest) = strip_word(line, "SET search_path") {
            let first = rest.trim_start_matches([' ', '=']).split([',', ';']).next().unwrap_or_default();
            self.is_auth_default = first.trim().trim_start_matches("TO ").trim_matches(['"', '\'']) == "auth";
            self.skip(line);
        } else {
            self.skip(line);
        }
        None
    }

    /// Reads a line of the columns of a `CREATE TABLE` as `pg_dump` writes them: one column per line.
    fn read_definition(&mut self, line: &str) {
        let DumpState::Create(table, names) = &mut self.state else { return };
        let line = line.trim();
        let word = line.split_whitespace().next().unwrap_or_default();
        let is_column = !word.is_empty()
            && !line.starts_with([')', '-', '('])
            && !["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "EXCLUDE", "LIKE"]
                .contains(&word.to_uppercase().as_str());
        if is_column {
            names.push(word.trim_matches('"').to_owned());
        }
        if line.starts_with(')') || line.ends_with(';') {
            let (table, names) = (std::mem::take(table), std::mem::take(names));
            self.columns.insert(table, names);
            self.state = DumpState::Outside;
        }
    }

    /// Begins the rows of an `INSERT`, or waits for the rest of its head.
    fn begin_insert(&mut self, text: String) -> Option<DumpRow> {
        self.state = DumpState::Outside;
        let rest =
            strip_word(&text, "INSERT INTO").filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        let Some(rest) = rest else {
            self.skip(&text);
            return None;
        };
        let Some((name, _)) = self.parse_table(rest) else {
            let is_named = rest.trim().contains([' ', '(', ';']);
            if is_named {
                self.skip(&text);
            } else {
                self.state = DumpState::InsertHead(text);
            }
            return None;
        };
        let parsed = self.parse_columns(rest);
        let after = parsed.as_ref().map(|(_, after)| after.trim_start());
        let after = after.map(|after| strip_word(after, "OVERRIDING SYSTEM VALUE").unwrap_or(after).trim_start());
        if let (Some((columns, _)), Some(values)) = (&parsed, after.and_then(|after| strip_word(after, "VALUES"))) {
            self.state = DumpState::Insert(columns.clone(), PendingRows::new(values));
            return None;
        }
        let is_open = after.is_none_or(|after| after.is_empty() || "VALUES".starts_with(&after.to_uppercase()));
        if is_open && text.len() as u64 <= MAX_LINE_BYTES && !text.trim_end().ends_with(';') {
            self.state = DumpState::InsertHead(text);
            return None;
        }
        self.skip(&text);
        Some(DumpRow::error(&name, self.line, "only INSERT INTO … VALUES is read".to_owned()))
    }

    /// Parses the name of a table of the schema `auth`, with or without quotes, and returns it with the rest.
    fn parse_table<'t>(&self, text: &'t str) -> Option<(String, &'t str)> {
        let text = text.trim_start();
        let end = text.find(|character: char| character == '(' || character.is_whitespace()).unwrap_or(text.len());
        let name = text[..end].replace('"', "").to_lowercase();
        let name = match name.split_once('.') {
            Some(("auth", name)) => name.to_owned(),
            None if self.is_auth_default && !name.is_empty() => name,
            _ => return None,
        };
        Some((name.trim_end_matches(';').to_owned(), &text[end..]))
    }

    /// Parses a table and its columns, and returns them with the rest; `None` for tables of other schemas.
    /// The form is `auth.users (id, email)`; without a list the columns are those of the table.
    fn parse_columns<'t>(&self, text: &'t str) -> Option<(Columns, &'t str)> {
        let (table, rest) = self.parse_table(text)?;
        let Some(listed) = rest.trim_start().strip_prefix('(') else {
            let names = self.columns.get(&table).cloned().unwrap_or_default();
            return Some((Columns { table, names }, rest));
        };
        let (columns, rest) = listed.split_once(')')?;
        let names = columns.split(',').map(|column| column.trim().trim_matches('"').to_owned()).collect();
        Some((Columns { table, names }, rest))
    }
}

impl Iterator for DumpReader {
    type Item = io::Result<DumpRow>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// Strips a word of SQL, whatever its case.
fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

impl Columns {
    /// Creates a row.
    fn into_row(self, line: u64, values: Vec<Option<String>>) -> DumpRow {
        let Self { table, names } = self;
        if values.len() != names.len() {
            let problem = format!(
                "{} values for {} columns: the table has other columns than Supabase's; write the dump with `pg_dump --column-inserts`, \
                 or without --inserts",
                values.len(),
                names.len()
            );
            return DumpRow::error(&table, line, problem);
        }
        let known = ImportTable::from_name(&table);
        let mut omitted = Vec::new();
        let mut row = ImportRow::new();
        for (name, value) in names.into_iter().zip(values) {
            if known.is_some_and(|known| known.has_column(&name)) {
                row.insert(name, value.map_or(Value::Null, Value::String));
            } else if known.is_some() && value.is_some() {
                omitted.push(format!("{table}.{name}"));
            }
        }
        DumpRow { table, item: ParsedItem { line, row: Ok(row) }, omitted }
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
    /// The end of the statement, and where the next one begins in the text.
    End(usize),
    /// Not a row.
    Invalid,
}

fn parse_tuple(text: &str) -> ParsedTuple {
    let start = text.trim_start_matches(|character: char| character.is_whitespace() || character == ',');
    if start.is_empty() {
        return ParsedTuple::Incomplete;
    }
    let Some(mut rest) = start.strip_prefix('(') else {
        let is_end = start.starts_with(';') || strip_word(start, "ON CONFLICT").is_some();
        return match start.split_once(';') {
            Some((_, rest)) if is_end => ParsedTuple::End(text.len() - rest.len()),
            None if is_end || "ON CONFLICT".starts_with(&start.to_uppercase()) => ParsedTuple::Incomplete,
            _ => ParsedTuple::Invalid,
        };
    };
    let mut values = Vec::new();
    loop {
        let Some((value, after)) = parse_literal(rest.trim_start()) else { return ParsedTuple::Incomplete };
        values.push(value);
        let after = skip_casts(after);
        match after.chars().next() {
            Some(',') => rest = &after[1..],
            Some(')') => return ParsedTuple::Complete(values, text.len() - after.len() + 1),
            Some(_) => return ParsedTuple::Invalid,
            None => return ParsedTuple::Incomplete,
        }
    }
}

/// Skips casts such as `::jsonb` and `::timestamp(6) with time zone`, which add nothing to the column's type.
fn skip_casts(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(cast) = rest.strip_prefix("::") {
        rest = skip_type(cast);
    }
    rest
}

fn skip_type(text: &str) -> &str {
    let is_name = |character: char| character.is_alphanumeric() || "_.\"[]".contains(character);
    let mut rest = text.trim_start().trim_start_matches(is_name).trim_start();
    loop {
        let words = ["varying", "precision", "with time zone", "without time zone", "[]"];
        if let Some(after) = words.iter().find_map(|word| strip_word(rest, word)) {
            rest = after.trim_start();
            continue;
        }
        let Some((size, after)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) else { return rest };
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_digit() || b", ".contains(&byte)) {
            return rest;
        }
        rest = after.trim_start();
    }
}

/// Parses a literal into its value (`None` for `NULL` and `DEFAULT`) and the rest; `None` if its end is missing.
fn parse_literal(text: &str) -> Option<(Option<String>, &str)> {
    if let Some(inner) = strip_word(text, "CAST(") {
        let (value, rest) = parse_literal(inner.trim_start())?;
        let named = strip_word(skip_casts(rest), "AS ")?;
        return Some((value, skip_type(named).strip_prefix(')')?));
    }
    let (has_escapes, quoted) = match text.as_bytes() {
        [b'E' | b'e', b'\'', ..] => (true, &text[2..]),
        [b'\'', ..] => (false, &text[1..]),
        [b'$', ..] => {
            let tag = &text[..text[1..].find('$')? + 2];
            let (value, rest) = text[tag.len()..].split_once(tag)?;
            return Some((Some(value.to_owned()), rest));
        }
        _ => {
            let end = text.find([',', ')', ':', '\'', '('])?;
            let word = text[..end].trim();
            // A type before its text: timestamptz '2024-01-01 00:00:00+00'.
            let is_type =
                !word.is_empty() && word.chars().all(|letter| letter.is_alphanumeric() || " _".contains(letter));
            if text[end..].starts_with('\'') && is_type {
                return parse_literal(&text[end..]);
            }
            let is_absent = word.eq_ignore_ascii_case("null") || word.eq_ignore_ascii_case("default");
            return Some(((!is_absent).then(|| word.to_owned()), &text[end..]));
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
        let columns = TableColumns::from([("users".to_owned(), vec!["id".to_owned(), "email".to_owned()])]);
        DumpReader::new(text, columns)
            .map(|found| found.expect("readable"))
            .filter_map(|found| Some((found.import_table()?, found.item.line, found.item.row)))
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
    fn text_inside_other_statements_is_no_statement() {
        let forged = "INSERT INTO auth.users (id, email) VALUES ('9', 'forged@b.co');";
        let content = format!(
            "/* a comment */\nINSERT INTO public.posts VALUES (1, 'hi\n{forged}\nCOPY auth.users (id, email) FROM stdin;\nit''s');\n\
             CREATE FUNCTION public.f() AS $$\n{forged}\n$$ LANGUAGE sql;\n\
             SELECT 'a',\n'b;';\nINSERT INTO auth.users VALUES ('1', 'ann@b.co');\n"
        );
        let found = rows(&content);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].2, Ok(row(&[("id", Some("1")), ("email", Some("ann@b.co"))])));
        let cut_off = rows("INSERT INTO public.posts VALUES (1, 'hi\n");
        assert!(cut_off.len() == 1 && cut_off[0].2.as_ref().is_err_and(|problem| problem.contains("cut off")));
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

    #[test]
    fn forms_of_statements_are_read() {
        let expected = Ok(row(&[("id", Some("1")), ("email", Some("a@b.co"))]));
        for content in [
            "INSERT INTO auth.users VALUES ('1', 'a@b.co');\n",
            "insert into auth.users values (1, 'a@b.co'::character varying(255));\n",
            "INSERT INTO auth.users\n(id, email)\nVALUES\n(CAST('1' AS text), $$a@b.co$$);\n",
            "CREATE TABLE auth.users (\n    email text,\n    id uuid NOT NULL\n);\nINSERT INTO auth.users VALUES ('a@b.co', '1');\n",
            "SET search_path = auth, public;\nINSERT INTO users VALUES ('1', 'a@b.co');\n",
            "INSERT INTO auth.users VALUES ('1'::text::varchar, 'a@b.co') ON CONFLICT DO NOTHING; SELECT 1;\n",
            "INSERT INTO auth.x VALUES (1); INSERT INTO auth.users VALUES ('1', 'a@b.co');\n",
        ] {
            let found = rows(content);
            assert_eq!(found.len(), 1, "{content}");
            assert_eq!(found[0].2, expected, "{content}");
        }
        let time = "INSERT INTO auth.users (id, created_at) VALUES ('1', timestamp with time zone '2024-01-01 00:00:00+00'), ('2', '2024-01-01 00:00:00+00'::timestamp with time zone);\n";
        let found = rows(time);
        assert_eq!(found.len(), 2);
        for content in [
            "INSERT INTO auth.users (id) SELECT id FROM other;\n",
            "INSERT INTO auth.users (id) VALUES (now());\n",
            "COPY auth.users (id) FROM stdin;\n1\t2\n\\.\n",
            "INSERT INTO auth.users VALUES (1, 2, 3);\n",
            "INSERT INTO auth.users (id) VALUES ('1",
        ] {
            assert!(rows(content).iter().any(|found| found.2.is_err()), "{content}");
        }
        assert!(rows("INSERT INTO public.users VALUES (1);\nCOPY public.users (id) FROM stdin;\n1\n\\.\n").is_empty());
    }

    #[test]
    fn long_statements_are_read_in_time_that_grows_with_their_length() {
        // One line of many rows, and one row of many lines with what ends rows elsewhere.
        let count = 30_000;
        let values: Vec<String> = (0..count).map(|id| format!("('{id}', '{}')", "ö'')(;x".repeat(10))).collect();
        let one_line = format!("INSERT INTO auth.users VALUES {};\n", values.join(", "));
        let many_lines = format!("INSERT INTO auth.users VALUES ('1', '{}');\n", "a);\n".repeat(200_000));
        let started = std::time::Instant::now();
        let found = rows(&one_line);
        assert_eq!(found.len(), count);
        assert!(found.iter().all(|(_, line, row)| *line == 1 && row.is_ok()), "{:?}", found.last());
        let found = rows(&many_lines);
        assert!(found.len() == 1 && found[0].2.is_ok());
        // Some hundreds of times as long with time that grows with the square.
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    }

    #[test]
    fn rows_that_are_too_long_do_not_affect_others() {
        let long = "x".repeat(5 << 20);
        let content = format!(
            "COPY auth.users (id, email) FROM stdin;\n1\t{long}\n2\tb@b.co\n\\.\n\
             INSERT INTO public.posts VALUES ('{long}');\n\
             INSERT INTO auth.users VALUES ('3', '{long}'), ('4', 'c');\n\
             INSERT INTO auth.users VALUES ('5', 'd@b.co');\n"
        );
        let found: Vec<_> = rows(&content).into_iter().map(|(_, line, row)| (line, row.is_ok())).collect();
        assert_eq!(found, [(2, false), (3, true), (6, false), (7, true)]);
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
