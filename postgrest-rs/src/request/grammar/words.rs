//! Words, and what is around them.

use crate::request::parsec::{Input, Parsed, attempt, either, end, label, look_ahead, sequence, take_while, text};

fn blanks<'a>(input: &mut Input<'a>) -> Parsed<&'a str> {
    take_while(input, |character| matches!(character, ' ' | '\t'))
}

/// The parser with blanks around.
pub(super) fn lexeme<'a, T>(input: &mut Input<'a>, parser: impl FnOnce(&mut Input<'a>) -> Parsed<T>) -> Parsed<T> {
    sequence(input, |steps| {
        steps.run(blanks)?;
        let value = steps.run(parser)?;
        steps.run(blanks)?;
        Ok(value)
    })
}

/// A text with blanks around.
pub(super) fn symbol(expected: &'static str) -> impl Fn(&mut Input<'_>) -> Parsed<()> {
    move |input| lexeme(input, text(expected))
}

/// A text between parentheses that `parser` reads.
pub(super) fn parenthesized<'a, T>(
    input: &mut Input<'a>,
    parser: impl FnOnce(&mut Input<'a>) -> Parsed<T>,
) -> Parsed<T> {
    sequence(input, |steps| {
        steps.run(text("("))?;
        let value = steps.run(parser)?;
        steps.run(text(")"))?;
        Ok(value)
    })
}

/// The dot between names, operators and values.
pub(super) fn delimiter(input: &mut Input<'_>) -> Parsed<()> {
    label(input, "delimiter (.)", text("."))
}

/// A text, and the value that it stands for.
pub(super) fn word<T: Copy>(expected: &'static str, value: T) -> impl Fn(&mut Input<'_>) -> Parsed<T> {
    move |input| text(expected)(input).replace(value)
}

/// The first of the words that follows; each is tried from the beginning.
pub(super) fn any_word<T: Copy>(input: &mut Input<'_>, words: &[(&'static str, T)]) -> Parsed<T> {
    let Some(((expected, value), others)) = words.split_first() else {
        return sequence(input, |steps| steps.require(false)).map(|()| unreachable!("a failed reply has no value"));
    };
    either(input, |input| attempt(input, word(expected, *value)), |input| any_word(input, others))
}

/// The first of the ends that follows, without consuming it; `end of input` is always one.
pub(super) fn ends(input: &mut Input<'_>, expected: &[&'static str]) -> Parsed<()> {
    match expected.split_first() {
        Some((first, others)) => {
            either(input, |input| attempt(input, |input| look_ahead(input, text(first))), |input| ends(input, others))
        }
        None => attempt(input, end),
    }
}
