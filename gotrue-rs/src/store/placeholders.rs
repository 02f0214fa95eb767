//! Translates `:name` placeholders of SQL to the numbered ones of PostgreSQL, at compile time.
//!
//! A placeholder is a colon followed by a name in lower case. Casts (`::text`), quoted text, quoted identifiers,
//! comments and array slices whose colon directly follows the lower bound (`a[1:n]`) are copied. Parameters are
//! numbered in the order of their first appearance.

/// The highest number of parameters of one statement.
const MAX_PARAMETERS: usize = 32;
/// The highest number of placeholders of one statement.
const MAX_PLACEHOLDERS: usize = 128;

/// Where a translated text has a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder {
    /// The offset of `$` in bytes.
    pub start: usize,
    /// The offset after the number.
    pub end: usize,
    /// The index of its parameter, from 0.
    pub parameter: usize,
}

impl Placeholder {
    const NONE: Self = Self { start: 0, end: 0, parameter: 0 };
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
#[derive(Debug, Clone, Copy)]
pub struct NumberedSql<const LENGTH: usize, const PARAMETERS: usize, const PLACEHOLDERS: usize> {
    text: [u8; LENGTH],
    parameters: [&'static str; PARAMETERS],
    placeholders: [Placeholder; PLACEHOLDERS],
}

impl<const LENGTH: usize, const PARAMETERS: usize, const PLACEHOLDERS: usize>
    NumberedSql<LENGTH, PARAMETERS, PLACEHOLDERS>
{
    /// The text with `$1` … for values.
    ///
    /// # Panics
    /// Never: only whole characters are copied.
    pub const fn text(&self) -> &str {
        match core::str::from_utf8(&self.text) {
            Ok(text) => text,
            Err(_) => panic!("a character was split"),
        }
    }

    /// The names of the parameters in the order of their numbers.
    pub const fn parameters(&self) -> &[&'static str] {
        &self.parameters
    }

    /// The placeholders in the order of the text.
    pub const fn placeholders(&self) -> &[Placeholder] {
        &self.placeholders
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
        let text = core::str::from_utf8(&self.text[..self.length]).expect("only whole characters are copied");
        (text, &self.parameters[..self.count])
    }

    /// Returns the translation in its exact size: that of [`Self::length`], [`Self::count`] and
    /// [`Self::placeholder_count`].
    pub const fn finish<const LENGTH: usize, const PARAMETERS: usize, const PLACEHOLDERS: usize>(
        &self,
    ) -> NumberedSql<LENGTH, PARAMETERS, PLACEHOLDERS> {
        assert!(LENGTH == self.length && PARAMETERS == self.count, "the sizes are those of the draft");
        let (mut text, mut parameters) = ([0; LENGTH], [""; PARAMETERS]);
        let mut placeholders = [Placeholder::NONE; PLACEHOLDERS];
        text.copy_from_slice(self.text.split_at(LENGTH).0);
        parameters.copy_from_slice(self.parameters.split_at(PARAMETERS).0);
        placeholders.copy_from_slice(self.placeholders.split_at(PLACEHOLDERS).0);
        NumberedSql { text, parameters, placeholders }
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
        self.placeholders[self.placeholder_count] = Placeholder { start, end: self.length, parameter: number - 1 };
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
