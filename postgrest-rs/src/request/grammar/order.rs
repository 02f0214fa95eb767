//! The value of `order`.

use super::names::{field, field_name};
use super::words::{delimiter, ends, lexeme, parenthesized, word};
use crate::request::parsec::{FailedStep, Input, Parsed, Steps, attempt, either, optional, separated, sequence, text};
use crate::request::tree::{OrderDirection, OrderNulls, OrderTerm};

/// The terms of `order`.
pub(in crate::request) fn order(input: &mut Input<'_>) -> Parsed<Vec<OrderTerm>> {
    separated(
        input,
        |input| lexeme(input, |input| either(input, |input| attempt(input, related_order_term), order_term)),
        text(","),
    )
}

fn order_term(input: &mut Input<'_>) -> Parsed<OrderTerm> {
    sequence(input, |steps| {
        let field = steps.run(field)?;
        let (direction, nulls) = order_modifiers(steps)?;
        Ok(OrderTerm { relation: None, field, direction, nulls })
    })
}

fn related_order_term(input: &mut Input<'_>) -> Parsed<OrderTerm> {
    sequence(input, |steps| {
        let relation = Some(steps.run(field_name)?);
        let field = steps.run(|input| parenthesized(input, field))?;
        let (direction, nulls) = order_modifiers(steps)?;
        Ok(OrderTerm { relation, field, direction, nulls })
    })
}

/// A dot and a word, or nothing.
fn order_modifier<T: Copy>(input: &mut Input<'_>, words: [(&'static str, T); 2]) -> Parsed<Option<T>> {
    let [first, second] = words;
    let modifier = |(expected, value): (&'static str, T)| {
        move |input: &mut Input<'_>| {
            attempt(input, |input| {
                sequence(input, |steps| {
                    steps.run(delimiter)?;
                    steps.run(word(expected, value))
                })
            })
        }
    };
    optional(input, |input| either(input, modifier(first), modifier(second)))
}

fn order_modifiers(steps: &mut Steps<'_, '_>) -> Result<(Option<OrderDirection>, Option<OrderNulls>), FailedStep> {
    let directions = [("asc", OrderDirection::Ascending), ("desc", OrderDirection::Descending)];
    let places = [("nullsfirst", OrderNulls::First), ("nullslast", OrderNulls::Last)];
    let term_end = |input: &mut Input<'_>| ends(input, &[","]);
    let direction = steps.run(|input| order_modifier(input, directions))?;
    let nulls = steps.run(|input| {
        either(
            input,
            |input| {
                sequence(input, |steps| {
                    let nulls = steps.run(|input| order_modifier(input, places))?;
                    steps.run(term_end)?;
                    Ok(nulls)
                })
            },
            |input| term_end(input).replace(None),
        )
    })?;
    Ok((direction, nulls))
}
