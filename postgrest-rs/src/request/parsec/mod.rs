//! Parser combinators whose errors read as those of the library Parsec, which clients see in `PGRST100`.
//!
//! A parser either consumes input or not, and succeeds or fails. An alternative is tried only when the one before failed without
//! consuming. Each reply, success included, carries what else was expected where it ended; replies at the same place merge. To
//! parse without cost, input is parsed without errors first ([`parse`]) and again with them when that failed.

mod error;

pub(super) use self::error::show_literal;
use self::error::{Expected, Message, ParseError, show_character};

/// The deepest nesting of embeds and of logic trees.
const MAXIMUM_DEPTH: usize = 64;

/// The text that is parsed and how far.
pub(super) struct Input<'a> {
    text: &'a str,
    position: usize,
    /// Whether messages are collected.
    records: bool,
    depth: usize,
}

impl<'a> Input<'a> {
    fn new(text: &'a str, records: bool) -> Self {
        Self { text, position: 0, records, depth: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn error(&self, messages: impl FnOnce() -> Vec<Message>) -> ParseError {
        ParseError { position: self.position, messages: if self.records { messages() } else { Vec::new() } }
    }

    fn found_here(&self) -> ParseError {
        self.error(|| vec![Message::FoundCharacter(self.peek())])
    }

    fn nothing_known(&self) -> ParseError {
        ParseError { position: self.position, messages: Vec::new() }
    }
}

/// What a parser answers.
pub(super) struct Parsed<T> {
    consumed: bool,
    error: ParseError,
    value: Option<T>,
}

impl<T> Parsed<T> {
    /// The reply with another value.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Parsed<U> {
        Parsed { consumed: self.consumed, error: self.error, value: self.value.map(change) }
    }

    /// The reply without its value.
    pub(super) fn replace<U>(self, value: U) -> Parsed<U> {
        self.map(|_| value)
    }

    fn failed(consumed: bool, error: ParseError) -> Self {
        Self { consumed, error, value: None }
    }
}

/// A step of a sequence failed; the sequence keeps the error.
pub(super) struct FailedStep;

/// Parsers that follow each other.
pub(super) struct Steps<'s, 'a> {
    input: &'s mut Input<'a>,
    consumed: bool,
    error: ParseError,
}

impl<'a> Steps<'_, 'a> {
    /// Runs the next parser.
    pub(super) fn run<T>(&mut self, parser: impl FnOnce(&mut Input<'a>) -> Parsed<T>) -> Result<T, FailedStep> {
        let reply = parser(self.input);
        let before = std::mem::take(&mut self.error);
        if reply.consumed {
            self.consumed = true;
            self.error = reply.error;
        } else {
            self.error = before.merge(reply.error);
        }
        reply.value.ok_or(FailedStep)
    }

    /// Fails without a message unless `holds`.
    pub(super) fn require(&mut self, holds: bool) -> Result<(), FailedStep> {
        self.run(|input| Parsed { consumed: false, error: input.nothing_known(), value: holds.then_some(()) })
    }
}

/// Parsers that follow each other, and what they make together.
pub(super) fn sequence<'a, T>(
    input: &mut Input<'a>,
    body: impl FnOnce(&mut Steps<'_, 'a>) -> Result<T, FailedStep>,
) -> Parsed<T> {
    let error = input.nothing_known();
    let mut steps = Steps { input, consumed: false, error };
    let value = body(&mut steps).ok();
    Parsed { consumed: steps.consumed, error: steps.error, value }
}

/// A value without consuming.
pub(super) fn succeed<T>(input: &Input<'_>, value: T) -> Parsed<T> {
    Parsed { consumed: false, error: input.nothing_known(), value: Some(value) }
}

/// The first parser or, when it fails without consuming, the second.
pub(super) fn either<'a, T>(
    input: &mut Input<'a>,
    first: impl FnOnce(&mut Input<'a>) -> Parsed<T>,
    second: impl FnOnce(&mut Input<'a>) -> Parsed<T>,
) -> Parsed<T> {
    let reply = first(input);
    if reply.consumed || reply.value.is_some() {
        return reply;
    }
    let mut other = second(input);
    if !other.consumed {
        other.error = reply.error.merge(other.error);
    }
    other
}

/// The parser, which when it fails has consumed nothing.
pub(super) fn attempt<'a, T>(input: &mut Input<'a>, parser: impl FnOnce(&mut Input<'a>) -> Parsed<T>) -> Parsed<T> {
    let start = input.position;
    let mut reply = parser(input);
    if reply.value.is_none() {
        input.position = start;
        reply.consumed = false;
    }
    reply
}

/// The parser without consuming when it succeeds.
pub(super) fn look_ahead<'a, T>(input: &mut Input<'a>, parser: impl FnOnce(&mut Input<'a>) -> Parsed<T>) -> Parsed<T> {
    let start = input.position;
    let reply = parser(input);
    if reply.value.is_none() {
        return reply;
    }
    input.position = start;
    Parsed { consumed: false, error: input.nothing_known(), value: reply.value }
}

/// The parser, described by `text` where it fails without consuming.
pub(super) fn label<'a, T>(
    input: &mut Input<'a>,
    text: &'static str,
    parser: impl FnOnce(&mut Input<'a>) -> Parsed<T>,
) -> Parsed<T> {
    let mut reply = parser(input);
    let is_known = !reply.error.messages.is_empty() || reply.value.is_none();
    if !reply.consumed && is_known && input.records {
        reply.error.expect(Expected::Label(text));
    }
    reply
}

/// The parser, or nothing.
pub(super) fn optional<'a, T>(
    input: &mut Input<'a>,
    parser: impl FnOnce(&mut Input<'a>) -> Parsed<T>,
) -> Parsed<Option<T>> {
    either(input, |input| parser(input).map(Some), |input| succeed(input, None))
}

/// The parser as often as it succeeds. It consumes when it succeeds.
pub(super) fn many<'a, T>(input: &mut Input<'a>, parser: impl Fn(&mut Input<'a>) -> Parsed<T>) -> Parsed<Vec<T>> {
    let mut values = Vec::new();
    let mut consumed = false;
    loop {
        let reply = parser(input);
        match reply.value {
            Some(value) if reply.consumed => {
                consumed = true;
                values.push(value);
            }
            // What succeeds without consuming would do so for ever.
            None if reply.consumed => return Parsed::failed(true, reply.error),
            Some(_) | None => return Parsed { consumed, error: reply.error, value: Some(values) },
        }
    }
}

/// One or more values with separators between them.
pub(super) fn separated<'a, T, S>(
    input: &mut Input<'a>,
    parser: impl Fn(&mut Input<'a>) -> Parsed<T>,
    separator: impl Fn(&mut Input<'a>) -> Parsed<S>,
) -> Parsed<Vec<T>> {
    sequence(input, |steps| {
        let mut values = vec![steps.run(&parser)?];
        values.extend(steps.run(|input| {
            many(input, |input| {
                sequence(input, |steps| {
                    steps.run(&separator)?;
                    steps.run(&parser)
                })
            })
        })?);
        Ok(values)
    })
}

/// A character that `accepts`.
pub(super) fn satisfy(input: &mut Input<'_>, accepts: impl Fn(char) -> bool) -> Parsed<char> {
    match input.peek() {
        Some(character) if accepts(character) => {
            input.position += character.len_utf8();
            Parsed { consumed: true, error: input.nothing_known(), value: Some(character) }
        }
        _ => Parsed::failed(false, input.found_here()),
    }
}

/// All characters that follow and that `accepts`.
pub(super) fn take_while<'a>(input: &mut Input<'a>, accepts: impl Fn(char) -> bool) -> Parsed<&'a str> {
    let rest = input.rest();
    let length = rest.find(|character| !accepts(character)).unwrap_or(rest.len());
    input.position += length;
    Parsed { consumed: length > 0, error: input.found_here(), value: Some(&rest[..length]) }
}

pub(super) fn text(expected: &'static str) -> impl Fn(&mut Input<'_>) -> Parsed<()> {
    move |input| {
        let start = input.position;
        let mut found = input.rest().chars();
        for (index, wanted) in expected.chars().enumerate() {
            let next = found.next();
            if next != Some(wanted) {
                input.position = start;
                let mut error = input.error(|| vec![Message::FoundCharacter(next)]);
                if input.records {
                    error.expect(Expected::Text(expected));
                }
                return Parsed::failed(index > 0, error);
            }
        }
        input.position += expected.len();
        Parsed { consumed: true, error: input.nothing_known(), value: Some(()) }
    }
}

/// No character that `accepts` follows; `expected` is what it is called.
pub(super) fn not_followed_by(
    input: &mut Input<'_>,
    expected: Option<&'static str>,
    accepts: impl Fn(char) -> bool,
) -> Parsed<()> {
    match input.peek() {
        Some(character) if accepts(character) => {
            let position = input.position + character.len_utf8();
            let messages = if input.records { vec![Message::Found(show_character(character))] } else { Vec::new() };
            Parsed::failed(false, ParseError { position, messages })
        }
        _ => {
            let mut error = input.found_here();
            if let Some(expected) = expected.filter(|_| input.records) {
                error.expect(Expected::Text(expected));
            }
            Parsed { consumed: false, error, value: Some(()) }
        }
    }
}

/// The end of the input.
pub(super) fn end(input: &mut Input<'_>) -> Parsed<()> {
    label(input, "end of input", |input| match input.peek() {
        Some(character) => {
            let error = input.error(|| vec![Message::Found(show_character(character))]);
            Parsed::failed(false, error)
        }
        None => Parsed { consumed: false, error: input.found_here(), value: Some(()) },
    })
}

/// The parser one level deeper; it fails where nesting is too deep.
pub(super) fn nested<'a, T>(input: &mut Input<'a>, parser: impl FnOnce(&mut Input<'a>) -> Parsed<T>) -> Parsed<T> {
    if input.depth >= MAXIMUM_DEPTH {
        let error = input.error(|| vec![Message::Found(format!("nesting of more than {MAXIMUM_DEPTH} levels"))]);
        return Parsed::failed(true, error);
    }
    input.depth += 1;
    let reply = parser(input);
    input.depth -= 1;
    reply
}

/// Parses the beginning of `text`, as much as the parser takes.
///
/// # Errors
/// Where parsing failed (`(line 1, column 2)`) and what was expected there.
pub(super) fn parse<'a, T>(text: &'a str, parser: impl Fn(&mut Input<'a>) -> Parsed<T>) -> Result<T, (String, String)> {
    if let Some(value) = parser(&mut Input::new(text, false)).value {
        return Ok(value);
    }
    let reply = parser(&mut Input::new(text, true));
    match reply.value {
        Some(value) => Ok(value),
        None => Err((locate(text, reply.error.position), reply.error.describe())),
    }
}

/// Line and column of a place.
fn locate(text: &str, position: usize) -> String {
    let (mut line, mut column) = (1, 1);
    for character in text[..position].chars() {
        match character {
            '\n' => (line, column) = (line + 1, 1),
            '\t' => column += 8 - (column - 1) % 8,
            _ => column += 1,
        }
    }
    format!("(line {line}, column {column})")
}
