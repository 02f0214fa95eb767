//! Names, and paths of names.

use super::words::{any_word, delimiter, ends, lexeme, symbol};
use crate::request::parsec::{
    Input, Parsed, attempt, either, label, many, not_followed_by, optional, satisfy, separated, sequence, take_while,
    text,
};
use crate::request::tree::{EmbedPath, Field, JsonOperand, JsonOperation};

/// A character of a name.
fn identifier_character(input: &mut Input<'_>) -> Parsed<char> {
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
pub(super) fn identifier(input: &mut Input<'_>) -> Parsed<String> {
    sequence(input, |steps| {
        let first = steps.run(identifier_character)?;
        let rest = steps.run(|input| many(input, identifier_character))?;
        let all: String = std::iter::once(first).chain(rest).collect();
        Ok(all.trim().to_owned())
    })
}

/// Parts joined by `-` that is not the beginning of an arrow.
fn joined_by_dash<'a>(input: &mut Input<'a>, part: impl Fn(&mut Input<'a>) -> Parsed<String>) -> Parsed<String> {
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
pub(super) fn quoted(input: &mut Input<'_>) -> Parsed<String> {
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
pub(super) fn field_name(input: &mut Input<'_>) -> Parsed<String> {
    label(input, "field name (* or [a..z0..9_$])", |input| {
        either(input, quoted, |input| joined_by_dash(input, identifier))
    })
}

/// A key of a JSON path.
fn json_key(input: &mut Input<'_>) -> Parsed<String> {
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

/// An index of a JSON path: digits, with `-` before those that count from the end.
fn json_index(input: &mut Input<'_>) -> Parsed<String> {
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
fn json_path(input: &mut Input<'_>) -> Parsed<Vec<JsonOperation>> {
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
pub(super) fn field(input: &mut Input<'_>) -> Parsed<Field> {
    lexeme(input, |input| {
        sequence(input, |steps| {
            let name = steps.run(field_name)?;
            let path = steps.run(json_path)?;
            Ok(Field { name, path })
        })
    })
}

/// `embed.column->path`: the path of embeds and the field. What follows is ignored.
pub(in crate::request) fn tree_path(input: &mut Input<'_>) -> Parsed<(EmbedPath, Field)> {
    sequence(input, |steps| {
        let mut names = steps.run(|input| separated(input, field_name, delimiter))?;
        let path = steps.run(json_path)?;
        let name = names.pop().unwrap_or_default();
        Ok((names, Field { name, path }))
    })
}

/// `embed.not.and`: the path of embeds and the operator, with `not.` before it when any part is `not`.
pub(in crate::request) fn logic_path(input: &mut Input<'_>) -> Parsed<(EmbedPath, String)> {
    separated(input, field_name, delimiter).map(|mut names| {
        let is_negated = names.iter().any(|name| name == "not");
        let operator = names.pop().unwrap_or_default();
        names.retain(|name| name != "not");
        (names, if is_negated { format!("not.{operator}") } else { operator })
    })
}

/// Names separated by commas. What follows is ignored.
pub(in crate::request) fn columns(input: &mut Input<'_>) -> Parsed<Vec<String>> {
    separated(input, field_name, symbol(","))
}
