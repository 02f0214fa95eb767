//! Grammar of the values of the query string: names and paths here, each kind of value in a file of its own.

mod filter;
mod order;
mod select;

pub(super) use self::filter::{filter, filter_or_argument, logic_tree};
pub(super) use self::order::order;
pub(super) use self::select::select;

use super::parsec::{
    Input, Reply, attempt, either, end, label, look_ahead, many, not_followed_by, optional, satisfy, separated,
    sequence, take_while, text,
};
use super::tree::{EmbedPath, Field, JsonOperand, JsonOperation};

fn blanks<'a>(input: &mut Input<'a>) -> Reply<&'a str> {
    take_while(input, |character| matches!(character, ' ' | '\t'))
}

/// The parser with blanks around.
fn lexeme<'a, T>(input: &mut Input<'a>, parser: impl FnOnce(&mut Input<'a>) -> Reply<T>) -> Reply<T> {
    sequence(input, |steps| {
        steps.run(blanks)?;
        let value = steps.run(parser)?;
        steps.run(blanks)?;
        Ok(value)
    })
}

/// A text with blanks around.
fn symbol(expected: &'static str) -> impl Fn(&mut Input<'_>) -> Reply<()> {
    move |input| lexeme(input, text(expected))
}

/// A text between parentheses that `parser` reads.
fn parenthesized<'a, T>(input: &mut Input<'a>, parser: impl FnOnce(&mut Input<'a>) -> Reply<T>) -> Reply<T> {
    sequence(input, |steps| {
        steps.run(text("("))?;
        let value = steps.run(parser)?;
        steps.run(text(")"))?;
        Ok(value)
    })
}

/// The dot between names, operators and values.
fn delimiter(input: &mut Input<'_>) -> Reply<()> {
    label(input, "delimiter (.)", text("."))
}

/// A text, and the value that it stands for.
fn word<T: Copy>(expected: &'static str, value: T) -> impl Fn(&mut Input<'_>) -> Reply<T> {
    move |input| text(expected)(input).replace(value)
}

/// The first of the words that follows; each is tried from the beginning.
fn any_word<T: Copy>(input: &mut Input<'_>, words: &[(&'static str, T)]) -> Reply<T> {
    let Some(((expected, value), others)) = words.split_first() else {
        return sequence(input, |steps| steps.require(false)).map(|()| unreachable!("a failed reply has no value"));
    };
    either(input, |input| attempt(input, word(expected, *value)), |input| any_word(input, others))
}

/// A character of a name.
fn identifier_character(input: &mut Input<'_>) -> Reply<char> {
    either(
        input,
        |input| label(input, "letter", |input| satisfy(input, char::is_alphabetic)),
        |input| {
            either(
                input,
                |input| label(input, "digit", |input| satisfy(input, |character| character.is_ascii_digit())),
                |input| satisfy(input, |character| matches!(character, '_' | ' ' | '$')),
            )
        },
    )
}

/// Letters, digits, `_`, `$` and inner spaces.
fn identifier(input: &mut Input<'_>) -> Reply<String> {
    sequence(input, |steps| {
        let first = steps.run(identifier_character)?;
        let rest = steps.run(|input| many(input, identifier_character))?;
        let all: String = std::iter::once(first).chain(rest).collect();
        Ok(all.trim().to_owned())
    })
}

/// Parts joined by `-` that is not the beginning of an arrow.
fn joined_by_dash<'a>(input: &mut Input<'a>, part: impl Fn(&mut Input<'a>) -> Reply<String>) -> Reply<String> {
    let dash = |input: &mut Input<'a>| {
        attempt(input, |input| {
            sequence(input, |steps| {
                steps.run(text("-"))?;
                steps.run(|input| not_followed_by(input, Some(">"), |character| character == '>'))
            })
        })
    };
    separated(input, part, dash).map(|parts| parts.join("-"))
}

/// A value in quotation marks, with `\` before any character.
fn quoted(input: &mut Input<'_>) -> Reply<String> {
    sequence(input, |steps| {
        steps.run(text("\""))?;
        let characters = steps.run(|input| {
            many(input, |input| {
                either(
                    input,
                    |input| satisfy(input, |character| !matches!(character, '\\' | '"')),
                    |input| {
                        sequence(input, |steps| {
                            steps.run(text("\\"))?;
                            steps.run(|input| satisfy(input, |_| true))
                        })
                    },
                )
            })
        })?;
        steps.run(text("\""))?;
        Ok(characters.into_iter().collect())
    })
}

/// The name of a column, relation or hint.
fn field_name(input: &mut Input<'_>) -> Reply<String> {
    label(input, "field name (* or [a..z0..9_$])", |input| {
        either(input, quoted, |input| joined_by_dash(input, identifier))
    })
}

/// A key of a JSON path.
fn json_key(input: &mut Input<'_>) -> Reply<String> {
    let part = |input: &mut Input<'_>| {
        let accepts = |character| !matches!(character, '(' | '-' | ':' | '.' | ',' | '>' | ')');
        sequence(input, |steps| {
            let first = steps.run(|input| satisfy(input, accepts))?;
            let rest = steps.run(|input| take_while(input, accepts))?;
            Ok(format!("{first}{rest}").trim().to_owned())
        })
    };
    label(input, "any non reserved character different from: .,>()", |input| {
        either(input, quoted, |input| joined_by_dash(input, part))
    })
}

/// The first of the ends that follows, without consuming it; `end of input` is always one.
fn ends(input: &mut Input<'_>, expected: &[&'static str]) -> Reply<()> {
    match expected.split_first() {
        Some((first, others)) => {
            either(input, |input| attempt(input, |input| look_ahead(input, text(first))), |input| ends(input, others))
        }
        None => attempt(input, end),
    }
}

/// An index of a JSON path: digits, with `-` before those that count from the end.
fn json_index(input: &mut Input<'_>) -> Reply<String> {
    sequence(input, |steps| {
        let sign = if steps.run(|input| optional(input, text("-")))?.is_some() { '-' } else { '+' };
        let digit = |input: &mut Input<'_>| {
            label(input, "digit", |input| satisfy(input, |character| character.is_ascii_digit()))
        };
        let first = steps.run(digit)?;
        let rest = steps.run(|input| many(input, digit))?;
        steps.run(|input| ends(input, &["->", "::", ".", ","]))?;
        Ok([sign, first].into_iter().chain(rest).collect())
    })
}

/// `->key->>0`
fn json_path(input: &mut Input<'_>) -> Reply<Vec<JsonOperation>> {
    let operation = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            let arrow: fn(JsonOperand) -> JsonOperation = steps.run(|input| {
                any_word::<fn(JsonOperand) -> JsonOperation>(
                    input,
                    &[("->>", JsonOperation::DoubleArrow), ("->", JsonOperation::Arrow)],
                )
            })?;
            let operand = steps.run(|input| {
                either(
                    input,
                    |input| attempt(input, |input| json_index(input).map(JsonOperand::Index)),
                    |input| attempt(input, |input| json_key(input).map(JsonOperand::Key)),
                )
            })?;
            Ok(arrow(operand))
        })
    };
    // Other than `many`, steps keep what else a key could have been followed by.
    sequence(input, |steps| {
        let mut operations = Vec::new();
        while let Some(next) = steps.run(|input| optional(input, operation))? {
            operations.push(next);
        }
        Ok(operations)
    })
}

/// A column with its JSON path.
fn field(input: &mut Input<'_>) -> Reply<Field> {
    lexeme(input, |input| {
        sequence(input, |steps| {
            let name = steps.run(field_name)?;
            let path = steps.run(json_path)?;
            Ok(Field { name, path })
        })
    })
}

/// `embed.column->path`: the path of embeds and the field. What follows is ignored.
pub(super) fn tree_path(input: &mut Input<'_>) -> Reply<(EmbedPath, Field)> {
    sequence(input, |steps| {
        let mut names = steps.run(|input| separated(input, field_name, delimiter))?;
        let path = steps.run(json_path)?;
        let name = names.pop().unwrap_or_default();
        Ok((names, Field { name, path }))
    })
}

/// `embed.not.and`: the path of embeds and the operator, with `not.` before it when any part is `not`.
pub(super) fn logic_path(input: &mut Input<'_>) -> Reply<(EmbedPath, String)> {
    separated(input, field_name, delimiter).map(|mut names| {
        let is_negated = names.iter().any(|name| name == "not");
        let operator = names.pop().unwrap_or_default();
        names.retain(|name| name != "not");
        (names, if is_negated { format!("not.{operator}") } else { operator })
    })
}

/// Names separated by commas. What follows is ignored.
pub(super) fn columns(input: &mut Input<'_>) -> Reply<Vec<String>> {
    separated(input, field_name, symbol(","))
}
