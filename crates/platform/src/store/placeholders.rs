//! Translates `:name` placeholders of SQL to the numbered ones of PostgreSQL, at compile time.
//!
//! A placeholder is a colon followed by a name in lower case. Casts (`::text`), quoted text, quoted identifiers,
//! comments and array slices whose colon directly follows the lower bound (`a[1:n]`) are copied. Parameters are
//! numbered in the order of their first appearance. The indentation of lines is left out: a fifth of the text.

use std::ops::Range;

/// The highest number of parameters of one statement.
const MAX_PARAMETERS: usize = 32;
/// The highest number of placeholders of one statement.
const MAX_PLACEHOLDERS: usize = 128;

/// Where a translated text has a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder {
    /// The offset of `$` in bytes.
    start: u16,
    /// The offset after the number.
    end: u16,
    /// The index of its parameter, from 0.
    parameter: u16,
}

impl Placeholder {
    const NONE: Self = Self { start: 0, end: 0, parameter: 0 };

    #[expect(clippy::cast_possible_truncation, reason = "the assertion excludes it")]
    const fn new(start: usize, end: usize, parameter: usize) -> Self {
        assert!(end <= u16::MAX as usize, "a statement is too long");
        Self { start: start as u16, end: end as u16, parameter: parameter as u16 }
    }

    /// The same placeholder in a text into which a part was copied: from the offset `from` to the offset `to`.
    ///
    /// # Panics
    /// The offset is too large, which a part of the text excludes.
    pub(super) fn moved(self, from: usize, to: usize) -> Self {
        Self::new(self.start as usize - from + to, self.end as usize - from + to, self.parameter as usize)
    }

    /// Where it is in the text, in bytes.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The index of its parameter, from 0.
    pub const fn parameter(self) -> usize {
        self.parameter as usize
    }
}

/// A translation in a buffer that is larger than the text.
///
/// [`TranslationBuffer::finish`] returns it at its exact size.
#[derive(Debug, Clone, Copy)]
pub struct TranslationBuffer<const CAPACITY: usize> {
    text: [u8; CAPACITY],
    length: usize,
    parameters: [&'static str; MAX_PARAMETERS],
    count: usize,
    placeholders: [Placeholder; MAX_PLACEHOLDERS],
    placeholder_count: usize,
}

/// A translated text, the names of its parameters, `$1` first, and where they are used.
///
/// It refers to nothing else, so that a program contains the translated text only, and not the one before as well.
#[derive(Debug, Clone, Copy)]
pub struct NumberedSql<const LENGTH: usize, const NAMES_LENGTH: usize, const PLACEHOLDERS: usize> {
    text: [u8; LENGTH],
    /// One after the other.
    names: [u8; NAMES_LENGTH],
    placeholders: [Placeholder; PLACEHOLDERS],
}

impl<const LENGTH: usize, const NAMES_LENGTH: usize, const PLACEHOLDERS: usize>
    NumberedSql<LENGTH, NAMES_LENGTH, PLACEHOLDERS>
{
    /// The text with `$1` … for values.
    ///
    /// # Panics
    /// Never: only whole characters are copied.
    pub const fn text(&self) -> &str {
        to_text(&self.text)
    }

    /// The names of the parameters in the order of their numbers.
    ///
    /// Their lengths are those of the translation.
    ///
    /// # Panics
    /// The buffer is that of another translation.
    pub const fn parameters<const COUNT: usize, const CAPACITY: usize>(
        &self,
        buffer: &TranslationBuffer<CAPACITY>,
    ) -> [&str; COUNT] {
        let (mut names, mut rest, mut index) = ([""; COUNT], self.names.as_slice(), 0);
        while index < COUNT {
            let (name, others) = rest.split_at(buffer.parameters[index].len());
            names[index] = to_text(name);
            rest = others;
            index += 1;
        }
        assert!(rest.is_empty(), "the names are those of the draft");
        names
    }

    /// The placeholders in the order of the text.
    pub const fn placeholders(&self) -> &[Placeholder] {
        &self.placeholders
    }
}

const fn to_text(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a character was split"),
    }
}

impl<const CAPACITY: usize> TranslationBuffer<CAPACITY> {
    /// Translates the placeholders. Twice the length of the text is enough capacity.
    ///
    /// # Panics
    /// The text has a `$1`, an `E'…'` constant, a comment or quotation without end, or too many parameters.
    pub const fn translate(sql: &'static str) -> Self {
        let source = sql.as_bytes();
        let mut draft = Self {
            text: [0; CAPACITY],
            length: 0,
            parameters: [""; MAX_PARAMETERS],
            count: 0,
            placeholders: [Placeholder::NONE; MAX_PLACEHOLDERS],
            placeholder_count: 0,
        };
        let (mut at, mut copied) = (0, 0);
        while at < source.len() {
            // Every byte of every statement passes here at each compilation: few of them need a function call.
            match source[at] {
                b'\'' => at = end_of_text(source, at),
                b'"' => at = end_of_quotation(source, at),
                b'-' if byte_at(source, at + 1) == b'-' => at = end_of_line(source, at),
                b'/' if byte_at(source, at + 1) == b'*' => at = end_of_comment(source, at),
                b'$' => panic!("SQL names its values: write `:name` instead of `$1`"),
                b':' if is_placeholder(source, at) => {
                    draft.push(source, copied, at);
                    copied = draft.push_placeholder(sql, at + 1);
                    at = copied;
                }
                b':' if byte_at(source, at + 1) == b':' => at += 2,
                b'\n' => {
                    draft.push(source, copied, at + 1);
                    copied = end_of_indentation(source, at + 1);
                    at = copied;
                }
                _ => at += 1,
            }
        }
        draft.push(source, copied, at);
        draft
    }

    /// The length of the text in bytes.
    pub const fn length(&self) -> usize {
        self.length
    }

    /// The number of parameters.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The number of placeholders.
    pub const fn placeholder_count(&self) -> usize {
        self.placeholder_count
    }

    /// The placeholders in the order of the text, for a text that is not a constant.
    pub fn placeholders(&self) -> &[Placeholder] {
        &self.placeholders[..self.placeholder_count]
    }

    /// The text and the names of the parameters, for a text that is not a constant.
    ///
    /// # Panics
    /// Never: only whole characters are copied.
    pub fn parts(&self) -> (&str, &[&'static str]) {
        (to_text(&self.text[..self.length]), &self.parameters[..self.count])
    }

    /// The length of the names of all parameters in bytes.
    pub const fn names_length(&self) -> usize {
        let (mut length, mut index) = (0, 0);
        while index < self.count {
            length += self.parameters[index].len();
            index += 1;
        }
        length
    }

    /// Returns the translation in its exact size: that of [`Self::length`], [`Self::names_length`] and
    /// [`Self::placeholder_count`].
    pub const fn finish<const LENGTH: usize, const NAMES_LENGTH: usize, const PLACEHOLDERS: usize>(
        &self,
    ) -> NumberedSql<LENGTH, NAMES_LENGTH, PLACEHOLDERS> {
        assert!(LENGTH == self.length && NAMES_LENGTH == self.names_length(), "the sizes are those of the draft");
        let (mut text, mut names) = ([0; LENGTH], [0; NAMES_LENGTH]);
        let mut placeholders = [Placeholder::NONE; PLACEHOLDERS];
        text.copy_from_slice(self.text.split_at(LENGTH).0);
        placeholders.copy_from_slice(self.placeholders.split_at(PLACEHOLDERS).0);
        let (mut rest, mut index) = (names.as_mut_slice(), 0);
        while index < self.count {
            let name = self.parameters[index].as_bytes();
            let (place, others) = rest.split_at_mut(name.len());
            place.copy_from_slice(name);
            rest = others;
            index += 1;
        }
        NumberedSql { text, names, placeholders }
    }

    /// Copies a part of the source.
    const fn push(&mut self, source: &[u8], start: usize, end: usize) {
        let part = source.split_at(end).0.split_at(start).1;
        self.text.split_at_mut(self.length).1.split_at_mut(part.len()).0.copy_from_slice(part);
        self.length += part.len();
    }

    /// Writes the number of the parameter whose name starts here, and returns the end of the name.
    const fn push_placeholder(&mut self, sql: &'static str, start: usize) -> usize {
        let mut end = start;
        while is_name_byte(byte_at(sql.as_bytes(), end)) {
            end += 1;
        }
        let name = sql.split_at(end).0.split_at(start).1;
        let number = self.number_of(name);
        let digits = [b'$', digit(number / 10), digit(number % 10)];
        let start = self.length;
        if number < 10 {
            self.push(&[digits[0], digits[2]], 0, 2);
        } else {
            self.push(&digits, 0, 3);
        }
        assert!(self.placeholder_count < MAX_PLACEHOLDERS, "a statement has too many placeholders");
        self.placeholders[self.placeholder_count] = Placeholder::new(start, self.length, number - 1);
        self.placeholder_count += 1;
        end
    }

    /// Returns the number of a parameter, which is added if it is new.
    const fn number_of(&mut self, name: &'static str) -> usize {
        let mut index = 0;
        while index < self.count {
            if is_same(self.parameters[index], name) {
                return index + 1;
            }
            index += 1;
        }
        assert!(self.count < MAX_PARAMETERS, "a statement has too many parameters");
        self.parameters[self.count] = name;
        self.count += 1;
        self.count
    }
}

/// Whether two names are equal.
pub(super) const fn is_same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns the byte, or 0 after the end.
const fn byte_at(source: &[u8], at: usize) -> u8 {
    if at < source.len() { source[at] } else { 0 }
}

#[expect(clippy::cast_possible_truncation, reason = "a decimal digit")]
const fn digit(number: usize) -> u8 {
    b'0' + number as u8
}

const fn is_name_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')
}

/// Whether the colon starts a placeholder: a name follows, and it is not that of an array slice.
const fn is_placeholder(source: &[u8], at: usize) -> bool {
    byte_at(source, at + 1).is_ascii_lowercase() && !(at > 0 && ends_value(source[at - 1]))
}

/// Whether the byte can be the last one of a value: a colon after it belongs to an array slice.
const fn ends_value(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b')' | b']' | b'"')
}

/// Returns the end of a text constant. A doubled quotation mark in it is read as two constants.
const fn end_of_text(source: &[u8], start: usize) -> usize {
    let is_escaped = start > 0 && matches!(source[start - 1], b'E' | b'e');
    let is_alone = start < 2 || !is_name_byte(source[start - 2].to_ascii_lowercase());
    assert!(!(is_escaped && is_alone), "a constant with backslash escapes, E'…', is not supported");
    end_of_quotation(source, start)
}

/// Returns the end of what is between two equal quotation marks.
const fn end_of_quotation(source: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < source.len() {
        if source[at] == source[start] {
            return at + 1;
        }
        at += 1;
    }
    panic!("a quotation mark is not closed")
}

const fn end_of_line(source: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < source.len() && source[at] != b'\n' {
        at += 1;
    }
    at
}

const fn end_of_indentation(source: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < source.len() && source[at] == b' ' {
        at += 1;
    }
    at
}

/// Returns the end of a comment, with the comments inside it.
const fn end_of_comment(source: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < source.len() {
        (at, depth) = match (source[at], byte_at(source, at + 1)) {
            (b'/', b'*') => (at + 2, depth + 1),
            (b'*', b'/') => (at + 2, depth - 1),
            _ => (at + 1, depth),
        };
        if depth == 0 {
            return at;
        }
    }
    panic!("a comment is not closed")
}
