//! Filters and logic trees.

use super::names::{field, identifier, quoted};
use super::words::{any_word, delimiter, parenthesized, symbol, word};
use crate::request::parsec::{
    Input, Parsed, attempt, either, label, nested, not_followed_by, optional, satisfy, separated, sequence, succeed,
    take_while, text,
};
use crate::request::tree::{
    Filter, FullTextOperator, IsValue, LogicOperator, LogicTree, Operation, QuantifiableOperator, Quantifier,
    SimpleOperator,
};

/// The value of `and` and `or`, with the operator before it. What follows is ignored.
pub(in crate::request) fn logic_tree(input: &mut Input<'_>) -> Parsed<LogicTree> {
    let condition = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            let field = steps.run(field)?;
            steps.run(delimiter)?;
            let (negated, operation) = steps.run(|input| operator_expression(input, logic_value))?;
            Ok(LogicTree::Condition(Filter { field, negated, operation }))
        })
    };
    either(
        input,
        |input| attempt(input, condition),
        |input| {
            sequence(input, |steps| {
                let negated = steps.run(|input| {
                    label(input, "negation operator (not)", |input| {
                        either(input, negation, |input| succeed(input, false))
                    })
                })?;
                let operator = steps.run(|input| {
                    label(input, "logic operator (and, or)", |input| {
                        either(
                            input,
                            |input| attempt(input, word("and", LogicOperator::And)),
                            word("or", LogicOperator::Or),
                        )
                    })
                })?;
                steps.run(symbol("("))?;
                let conditions = steps.run(|input| nested(input, |input| separated(input, logic_tree, symbol(","))))?;
                steps.run(symbol(")"))?;
                Ok(LogicTree::Group { negated, operator, conditions })
            })
        },
    )
}

/// `not.`
fn negation(input: &mut Input<'_>) -> Parsed<bool> {
    attempt(input, |input| {
        sequence(input, |steps| {
            steps.run(text("not"))?;
            steps.run(delimiter)?;
            Ok(true)
        })
    })
}

/// A value inside a logic tree: quoted, an array literal, or anything up to `,` or `)`.
fn logic_value(input: &mut Input<'_>) -> Parsed<String> {
    let array = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            steps.run(text("{"))?;
            let inner = steps.run(|input| take_while(input, |character| !matches!(character, '{' | '}')))?;
            steps.run(text("}"))?;
            Ok(format!("{{{inner}}}"))
        })
    };
    either(input, whole_quoted, |input| either(input, |input| attempt(input, array), raw_element))
}

/// A quoted value that ends where the element ends.
fn whole_quoted(input: &mut Input<'_>) -> Parsed<String> {
    attempt(input, |input| {
        sequence(input, |steps| {
            let value = steps.run(quoted)?;
            steps.run(|input| not_followed_by(input, None, |character| !matches!(character, ',' | ')')))?;
            Ok(value)
        })
    })
}

/// Anything up to `,` or `)`.
fn raw_element(input: &mut Input<'_>) -> Parsed<String> {
    take_while(input, |character| !matches!(character, ',' | ')')).map(str::to_owned)
}

/// Anything.
fn rest(input: &mut Input<'_>) -> Parsed<String> {
    take_while(input, |_| true).map(str::to_owned)
}

/// The value of a filter: `not.eq.5`.
pub(in crate::request) fn filter(input: &mut Input<'_>) -> Parsed<(bool, Operation)> {
    operator_expression(input, rest)
}

/// The value of a filter, or nothing when it does not begin with an operator: the argument of a function.
pub(in crate::request) fn filter_or_argument(input: &mut Input<'_>) -> Parsed<Option<(bool, Operation)>> {
    optional(input, filter)
}

fn operator_expression(
    input: &mut Input<'_>,
    value: fn(&mut Input<'_>) -> Parsed<String>,
) -> Parsed<(bool, Operation)> {
    sequence(input, |steps| {
        let negated = steps.run(|input| either(input, negation, |input| succeed(input, false)))?;
        let operation = steps.run(|input| label(input, "operator (eq, gt, ...)", |input| operation(input, value)))?;
        Ok((negated, operation))
    })
}

/// A word with the delimiter behind, or nothing consumed.
fn operator_word(expected: &'static str) -> impl Fn(&mut Input<'_>) -> Parsed<()> {
    move |input| {
        attempt(input, |input| {
            sequence(input, |steps| {
                steps.run(text(expected))?;
                steps.run(delimiter)
            })
        })
    }
}

/// An operator word, then what follows it.
fn operator_then<'a, T>(
    expected: &'static str,
    parser: impl FnOnce(&mut Input<'a>) -> Parsed<T>,
) -> impl FnOnce(&mut Input<'a>) -> Parsed<T> {
    move |input| {
        sequence(input, |steps| {
            steps.run(operator_word(expected))?;
            steps.run(parser)
        })
    }
}

fn operation(input: &mut Input<'_>, value: fn(&mut Input<'_>) -> Parsed<String>) -> Parsed<Operation> {
    either(input, operator_then("in", |input| list(input).map(Operation::In)), |input| {
        either(input, operator_then("is", |input| is_value(input).map(Operation::Is)), |input| {
            either(input, operator_then("isdistinct", |input| value(input).map(Operation::IsDistinctFrom)), |input| {
                value_operation(input, value)
            })
        })
    })
}

fn value_operation(input: &mut Input<'_>, value: fn(&mut Input<'_>) -> Parsed<String>) -> Parsed<Operation> {
    let full_text = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            let operator = steps.run(|input| any_word(input, &FULL_TEXT_OPERATORS))?;
            let language =
                steps.run(|input| optional(input, |input| attempt(input, |input| parenthesized(input, identifier))))?;
            steps.run(delimiter)?;
            Ok(Operation::FullText(operator, language, steps.run(value)?))
        })
    };
    let simple = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            let operator = steps.run(|input| {
                label(input, "unknown single value operator", |input| any_word(input, &SIMPLE_OPERATORS))
            })?;
            steps.run(delimiter)?;
            Ok(Operation::Simple(operator, steps.run(value)?))
        })
    };
    let quantifier = |input: &mut Input<'_>| {
        either(input, |input| attempt(input, word("any", Quantifier::Any)), word("all", Quantifier::All))
    };
    let quantifiable = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            let operator = steps.run(|input| {
                label(input, "unknown single value operator", |input| any_word(input, &QUANTIFIABLE_OPERATORS))
            })?;
            let quantifier =
                steps.run(|input| optional(input, |input| attempt(input, |input| parenthesized(input, quantifier))))?;
            steps.run(delimiter)?;
            Ok(Operation::Quantifiable(operator, quantifier, steps.run(value)?))
        })
    };
    either(
        input,
        |input| attempt(input, full_text),
        |input| either(input, |input| attempt(input, simple), |input| attempt(input, quantifiable)),
    )
}

const FULL_TEXT_OPERATORS: [(&str, FullTextOperator); 4] = [
    ("fts", FullTextOperator::Plain),
    ("plfts", FullTextOperator::PlainTo),
    ("phfts", FullTextOperator::PhraseTo),
    ("wfts", FullTextOperator::WebSearch),
];

const SIMPLE_OPERATORS: [(&str, SimpleOperator); 9] = [
    ("neq", SimpleOperator::NotEqual),
    ("cs", SimpleOperator::Contains),
    ("cd", SimpleOperator::Contained),
    ("ov", SimpleOperator::Overlap),
    ("sl", SimpleOperator::StrictlyLeft),
    ("sr", SimpleOperator::StrictlyRight),
    ("nxr", SimpleOperator::NotExtendsRight),
    ("nxl", SimpleOperator::NotExtendsLeft),
    ("adj", SimpleOperator::Adjacent),
];

const QUANTIFIABLE_OPERATORS: [(&str, QuantifiableOperator); 9] = [
    ("eq", QuantifiableOperator::Equal),
    ("gte", QuantifiableOperator::GreaterThanEqual),
    ("gt", QuantifiableOperator::GreaterThan),
    ("lte", QuantifiableOperator::LessThanEqual),
    ("lt", QuantifiableOperator::LessThan),
    ("like", QuantifiableOperator::Like),
    ("ilike", QuantifiableOperator::ILike),
    ("match", QuantifiableOperator::Match),
    ("imatch", QuantifiableOperator::IMatch),
];

/// The elements of `in.(…)`. What follows is ignored.
fn list(input: &mut Input<'_>) -> Parsed<Vec<String>> {
    let element = |input: &mut Input<'_>| either(input, whole_quoted, raw_element);
    sequence(input, |steps| {
        steps.run(symbol("("))?;
        let elements = steps.run(|input| separated(input, element, text(",")))?;
        steps.run(symbol(")"))?;
        Ok(elements)
    })
}

/// A text in any case.
fn caseless(expected: &'static str) -> impl Fn(&mut Input<'_>) -> Parsed<()> {
    move |input| {
        sequence(input, |steps| {
            for wanted in expected.chars() {
                steps.run(|input| satisfy(input, |character| character.eq_ignore_ascii_case(&wanted)))?;
            }
            Ok(())
        })
    }
}

/// The value of `is.`. What follows is ignored.
fn is_value(input: &mut Input<'_>) -> Parsed<IsValue> {
    fn any_value(input: &mut Input<'_>, values: &[(&'static str, IsValue)]) -> Parsed<IsValue> {
        let Some(((expected, value), others)) = values.split_first() else {
            return satisfy(input, |_| false).replace(IsValue::Null);
        };
        either(
            input,
            |input| attempt(input, |input| caseless(expected)(input).replace(*value)),
            |input| any_value(input, others),
        )
    }
    label(input, "isVal: (null, not_null, true, false, unknown)", |input| {
        any_value(
            input,
            &[
                ("null", IsValue::Null),
                ("not_null", IsValue::NotNull),
                ("true", IsValue::True),
                ("false", IsValue::False),
                ("unknown", IsValue::Unknown),
            ],
        )
    })
}
