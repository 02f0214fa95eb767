//! A streaming reader of lists in JSON.

use std::io::{self, BufRead};

use super::read::{MAX_LINE_BYTES, ParsedItem, TextReader, parse_object};

/// The longest name of a member that is compared, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// Reads the objects of the lists in a JSON text, such as `{"users": [{…}, {…}]}`.
///
/// Further lists without a name or with the name of the first one are read, too, as of pages that were joined. What is in lists of
/// other names or in none is reported with its line.
pub(super) struct ListReader {
    text: TextReader,
    line: u64,
    /// The open objects and lists outside of the lists that are read.
    depth: usize,
    is_inside: bool,
    has_ended: bool,
    /// The text before the place, which names a list that follows it.
    member: Option<String>,
    /// The name of the first list, if it has one.
    first: Option<String>,
    /// The number of lists, and of those before the object that is open at the top.
    lists: (u64, u64),
    /// The line of the object that is open at the top.
    top_line: u64,
}

impl ListReader {
    /// Reads the objects of a text.
    pub(super) fn new(json: TextReader) -> Self {
        Self {
            text: json,
            line: 1,
            depth: 0,
            is_inside: false,
            has_ended: false,
            member: None,
            first: None,
            lists: (0, 0),
            top_line: 1,
        }
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

    /// Reads a text after its first quotation mark, truncated if it is too long.
    fn read_text_rest(&mut self) -> io::Result<String> {
        let (mut bytes, mut is_escaped) = (Vec::new(), false);
        while let Some(byte) = self.read_byte()? {
            match byte {
                b'"' if !is_escaped => break,
                _ => is_escaped = byte == b'\\' && !is_escaped,
            }
            if bytes.len() < MAX_NAME_BYTES {
                bytes.push(byte);
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Skips the rest of a value that is no object, up to the comma after it or the end of the list.
    fn skip_value(&mut self, first: u8) -> io::Result<()> {
        let (mut depth, mut in_text, mut is_escaped) = (u32::from(first == b'['), first == b'"', false);
        loop {
            if depth == 0 && !in_text && self.text.fill_buf()?.first().is_none_or(|byte| b",]".contains(byte)) {
                return Ok(());
            }
            let Some(byte) = self.read_byte()? else { return Ok(()) };
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_text => is_escaped = true,
                b'"' => in_text = !in_text,
                b'[' | b'{' if !in_text => depth += 1,
                b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Skips a list after its first bracket; returns whether there was anything in it.
    fn skip_list(&mut self) -> io::Result<bool> {
        let (mut depth, mut has_items) = (1_u32, false);
        while depth > 0 {
            let Some(byte) = self.read_byte()? else { break };
            has_items |= !byte.is_ascii_whitespace() && byte != b']';
            match byte {
                b'"' => drop(self.read_text_rest()?),
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
        }
        Ok(has_items)
    }

    fn report(line: u64, problem: impl Into<String>) -> ParsedItem {
        ParsedItem { line, row: Err(problem.into()) }
    }

    /// Begins a list, or skips and reports one of another name than the first.
    fn begin_list(&mut self) -> io::Result<Option<ParsedItem>> {
        let (line, name) = (self.line, self.member.take());
        self.lists.0 += 1;
        if self.lists.0 == 1 {
            self.first.clone_from(&name);
        }
        if name.is_none() || self.first == name {
            self.is_inside = true;
            return Ok(None);
        }
        let first = self.first.clone().unwrap_or_default();
        let has_items = self.skip_list()?;
        let name = name.unwrap_or_default();
        let remedy = format!("the list {name:?} is not read, only {first:?}: import it from a file of its own");
        Ok(has_items.then(|| Self::report(line, remedy)))
    }

    /// Reads the next byte outside of a list.
    fn advance_outside(&mut self, byte: u8) -> io::Result<Option<ParsedItem>> {
        match byte {
            b'"' => self.member = Some(self.read_text_rest()?),
            b'[' => return self.begin_list(),
            b'{' => {
                if self.depth == 0 {
                    (self.top_line, self.lists.1) = (self.line, self.lists.0);
                }
                self.depth += 1;
                self.member = None;
            }
            b'}' => {
                self.depth = self.depth.saturating_sub(1);
                self.member = None;
                let (all, before) = self.lists;
                if self.depth == 0 && before > 0 && all == before {
                    let problem = "this object is outside of the list and is not read";
                    return Ok(Some(Self::report(self.top_line, problem)));
                }
            }
            // A comma ends a value, which names nothing.
            b',' => self.member = None,
            _ => {}
        }
        Ok(None)
    }

    fn advance(&mut self) -> io::Result<Option<ParsedItem>> {
        while !self.has_ended {
            let Some(byte) = self.read_byte()? else {
                self.has_ended = true;
                let problem = match (self.is_inside, self.lists.0) {
                    (true, _) => "the list has no end: the file is cut off",
                    (false, 0) => "there is no list",
                    (false, _) => return Ok(None),
                };
                return Ok(Some(Self::report(self.line, problem)));
            };
            let found = match byte {
                _ if !self.is_inside => self.advance_outside(byte)?,
                b'{' => {
                    let line = self.line;
                    Some(ParsedItem { line, row: parse_object(&self.read_object_rest()?) })
                }
                b']' => {
                    self.is_inside = false;
                    None
                }
                byte if !byte.is_ascii_whitespace() && byte != b',' => {
                    let line = self.line;
                    self.skip_value(byte)?;
                    Some(Self::report(line, "a JSON object is wanted"))
                }
                _ => None,
            };
            if found.is_some() {
                return Ok(found);
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
    use std::io::BufReader;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn text(content: &str) -> TextReader {
        BufReader::new(Box::new(io::Cursor::new(content.to_owned().into_bytes())))
    }

    fn read_lines(items: impl Iterator<Item = io::Result<ParsedItem>>) -> Vec<(u64, bool)> {
        items.map(|item| item.expect("readable")).map(|item| (item.line, item.row.is_ok())).collect()
    }

    #[test]
    fn objects_of_a_list_are_read() {
        let content = "{\"users\": [\n{\"a\": \"}]{\\\"\"},\n{\"b\": {\"c\": []}}, {nonsense}\n]}";
        assert_eq!(read_lines(ListReader::new(text(content))), [(2, true), (3, true), (3, false)]);
        assert_eq!(read_lines(ListReader::new(text("{\"users\": [{\"a\""))), [(1, false), (1, false)]);
        assert_eq!(read_lines(ListReader::new(text(""))), [(1, false)]);
        assert_eq!(
            read_lines(ListReader::new(text("[1, \"],\", {}, [{}], {}]"))),
            [(1, false), (1, false), (1, true), (1, false), (1, true)]
        );
    }

    #[test]
    fn further_lists_are_read_or_reported() {
        for (content, expected) in [
            ("[{}]\n[{}, {}]", &[(1, true), (2, true), (2, true)][..]),
            ("{\"users\": [{}]}\n{\"users\": [{}]}", &[(1, true), (2, true)]),
            (
                "{\"users\": [{}],\n\"groups\": [{}, [\"]\"]],\n\"none\": [ ],\n\"users\": [{}]}",
                &[(1, true), (2, false), (4, true)],
            ),
            ("{\"kind\": \"a[\", \"users\": [{}]}\n{\"id\": 1}\n", &[(1, true), (2, false)]),
            ("{\"kind\": {\"a\": 1}, \"users\": [{}], \"aud\": \"x\"}", &[(1, true)]),
        ] {
            assert_eq!(read_lines(ListReader::new(text(content))), expected, "{content}");
        }
    }

    proptest! {
        #[test]
        fn listed_objects_round_trip(values in proptest::collection::vec("\\PC{0,20}", 0..5)) {
            let rows: Vec<Value> = values.iter().map(|value| serde_json::json!({"a": value, "b": {"c": [value]}})).collect();
            let content = serde_json::json!({"users": rows}).to_string();
            let read: Vec<Value> = ListReader::new(text(&content))
                .map(|item| Value::Object(item.expect("readable").row.expect("an object")))
                .collect();
            prop_assert_eq!(read, rows);
        }

        #[test]
        fn arbitrary_lists_do_not_panic(content in "[\\[{}\\],:\"a\\\\ \n]{0,60}") {
            read_lines(ListReader::new(text(&content)));
        }
    }
}
