//! Finds the end of a statement of SQL that an import passes over, line by line.
//!
//! Text inside literals, names, bodies of functions and comments is no statement, whatever it looks like.

/// What is open at the end of the text so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Open {
    #[default]
    Nothing,
    /// A literal; whether a backslash escapes.
    Literal(bool),
    /// A quoted name.
    Name,
    /// A literal between dollar signs, with its delimiter.
    Dollar(String),
    /// Comments between `/*` and `*/`, and how many.
    Comment(usize),
}

impl Open {
    /// Reads a line; returns where the text after the statement's `;` begins, or `None` if the statement goes on.
    pub(super) fn scan(&mut self, line: &str) -> Option<usize> {
        self.scan_until(line, |byte| byte == b';')
    }

    /// Reads a line; returns the place after the first byte outside of literals and comments that is an end.
    pub(super) fn scan_until(&mut self, line: &str, mut is_end: impl FnMut(u8) -> bool) -> Option<usize> {
        let bytes = line.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let (length, next) = match self {
                Self::Nothing => {
                    if is_end(rest[0]) {
                        return Some(at + 1);
                    }
                    if rest.starts_with(b"--") {
                        return None;
                    }
                    Self::begin(line, at)
                }
                Self::Literal(true) if rest[0] == b'\\' => (2, None),
                Self::Literal(_) if rest.starts_with(b"''") => (2, None),
                Self::Name if rest.starts_with(b"\"\"") => (2, None),
                Self::Literal(_) if rest[0] == b'\'' => (1, Some(Self::Nothing)),
                Self::Name if rest[0] == b'"' => (1, Some(Self::Nothing)),
                Self::Dollar(delimiter) if rest.starts_with(delimiter.as_bytes()) => {
                    (delimiter.len(), Some(Self::Nothing))
                }
                Self::Comment(depth) if rest.starts_with(b"*/") => {
                    (2, Some(if *depth > 1 { Self::Comment(*depth - 1) } else { Self::Nothing }))
                }
                Self::Comment(depth) if rest.starts_with(b"/*") => (2, Some(Self::Comment(*depth + 1))),
                _ => (1, None),
            };
            at += length;
            if let Some(next) = next {
                *self = next;
            }
        }
        None
    }

    /// Returns the length of what begins at a place outside of literals, and what it opens.
    fn begin(line: &str, at: usize) -> (usize, Option<Self>) {
        let bytes = line.as_bytes();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        match bytes[at] {
            b'\'' => {
                let is_prefixed = at > 0 && matches!(bytes[at - 1], b'e' | b'E');
                let escapes = is_prefixed && !bytes[..at - 1].last().is_some_and(is_word);
                (1, Some(Self::Literal(escapes)))
            }
            b'"' => (1, Some(Self::Name)),
            b'/' if bytes[at..].starts_with(b"/*") => (2, Some(Self::Comment(1))),
            b'$' if !bytes[..at].last().is_some_and(is_word) => {
                let tag = bytes[at + 1..].iter().take_while(|byte| is_word(byte)).count();
                let starts_with_digit = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
                if bytes.get(at + 1 + tag) == Some(&b'$') && !starts_with_digit {
                    let delimiter = line[at..at + tag + 2].to_owned();
                    (delimiter.len(), Some(Self::Dollar(delimiter)))
                } else {
                    (1, None)
                }
            }
            _ => (1, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The line and the place where a statement ends.
    fn end(lines: &[&str]) -> Option<(usize, usize)> {
        let mut open = Open::default();
        lines.iter().enumerate().find_map(|(number, line)| open.scan(line).map(|at| (number, at)))
    }

    #[test]
    fn statement_ends_outside_of_literals_and_comments() {
        for (lines, expected) in [
            (&["SELECT 1; SELECT 2"][..], Some((0, 9))),
            (&["INSERT INTO a VALUES ('x;", "INSERT INTO auth.users (id) VALUES (1);", "it''s');"], Some((2, 8))),
            (&["SELECT E'it\\'s;', 'C:\\';", ";"], Some((0, 24))),
            (&["SELECT \"a;\"\"b\"", ";"], Some((1, 1))),
            (&["CREATE FUNCTION f() AS $x$ a; $$ ; ", "$x$;"], Some((1, 4))),
            (&["SELECT $1;"], Some((0, 10))),
            (&["/* a /* ; */ ; */ -- ;", ";"], Some((1, 1))),
            (&["SELECT name'x;"], None),
            (&["SELECT 1"], None),
        ] {
            assert_eq!(end(lines), expected, "{lines:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(lines in proptest::collection::vec("[-a-zE0-9'\"$;*/\\\\ äß]{0,24}", 0..4)) {
            let mut open = Open::default();
            for line in &lines {
                if let Some(at) = open.scan(line) {
                    prop_assert_eq!(line.as_bytes()[at - 1], b';');
                }
            }
        }
    }
}
