//! The value of `select`.

use super::names::{field, field_name, identifier};
use super::words::{any_word, ends, lexeme, parenthesized, symbol, word};
use crate::request::parsec::{
    FailedStep, Input, Parsed, Steps, attempt, either, look_ahead, nested, not_followed_by, optional, separated,
    sequence, succeed, text,
};
use crate::request::tree::{AggregateFunction, Field, JoinType, SelectItem, SelectNode};

/// The items of `select`. What follows is ignored.
pub(in crate::request) fn select(input: &mut Input<'_>) -> Parsed<Vec<SelectNode>> {
    either(input, |input| separated(input, select_node, symbol(",")), |input| succeed(input, Vec::new()))
}

fn select_node(input: &mut Input<'_>) -> Parsed<SelectNode> {
    let with_children = |item: fn(&mut Input<'_>) -> Parsed<SelectItem>| {
        move |input: &mut Input<'_>| {
            sequence(input, |steps| {
                let item = steps.run(|input| attempt(input, item))?;
                let children = steps.run(|input| nested(input, |input| parenthesized(input, select)))?;
                Ok(SelectNode { item, children })
            })
        }
    };
    either(input, with_children(spread_item), |input| {
        either(input, with_children(relation_item), |input| {
            field_item(input).map(|item| SelectNode { item, children: Vec::new() })
        })
    })
}

/// The alias before `:`, which is no cast.
fn alias(input: &mut Input<'_>) -> Parsed<Option<String>> {
    optional(input, |input| {
        attempt(input, |input| {
            sequence(input, |steps| {
                let alias = steps.run(field_name)?;
                steps.run(text(":"))?;
                steps.run(|input| not_followed_by(input, Some(":"), |character| character == ':'))?;
                Ok(alias)
            })
        })
    })
}

/// `!hint!inner`, in any order.
enum EmbedParameter {
    Hint(String),
    Join(JoinType),
}

fn embed_parameters(steps: &mut Steps<'_, '_>) -> Result<(Option<String>, Option<JoinType>), FailedStep> {
    let parameter = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            steps.run(text("!"))?;
            steps.run(|input| {
                either(
                    input,
                    |input| {
                        any_word(input, &[("left", JoinType::Left), ("inner", JoinType::Inner)])
                            .map(EmbedParameter::Join)
                    },
                    |input| attempt(input, |input| field_name(input).map(EmbedParameter::Hint)),
                )
            })
        })
    };
    let (mut hint, mut join) = (None, None);
    for _ in 0..2 {
        match steps.run(|input| optional(input, parameter))? {
            Some(EmbedParameter::Hint(name)) => hint = hint.or(Some(name)),
            Some(EmbedParameter::Join(kind)) => join = join.or(Some(kind)),
            None => {}
        }
    }
    steps.run(|input| attempt(input, |input| look_ahead(input, text("("))))?;
    Ok((hint, join))
}

fn spread_item(input: &mut Input<'_>) -> Parsed<SelectItem> {
    lexeme(input, |input| {
        sequence(input, |steps| {
            steps.run(text("..."))?;
            let relation = steps.run(field_name)?;
            let (hint, join) = embed_parameters(steps)?;
            Ok(SelectItem::Spread { relation, hint, join })
        })
    })
}

fn relation_item(input: &mut Input<'_>) -> Parsed<SelectItem> {
    lexeme(input, |input| {
        sequence(input, |steps| {
            let alias = steps.run(alias)?;
            let relation = steps.run(field_name)?;
            steps.require(relation != "count")?;
            let (hint, join) = embed_parameters(steps)?;
            Ok(SelectItem::Relation { relation, alias, hint, join })
        })
    })
}

/// `::type`
fn cast(input: &mut Input<'_>) -> Parsed<Option<String>> {
    optional(input, |input| {
        sequence(input, |steps| {
            steps.run(text("::"))?;
            steps.run(identifier)
        })
    })
}

/// `.sum()`
fn aggregate(input: &mut Input<'_>) -> Parsed<Option<AggregateFunction>> {
    let name = |input: &mut Input<'_>| {
        either(input, word("sum", AggregateFunction::Sum), |input| {
            either(input, word("avg", AggregateFunction::Avg), |input| {
                either(input, word("count", AggregateFunction::Count), |input| {
                    any_word(input, &[("max", AggregateFunction::Max), ("min", AggregateFunction::Min)])
                })
            })
        })
    };
    optional(input, |input| {
        attempt(input, |input| {
            sequence(input, |steps| {
                steps.run(text("."))?;
                let function = steps.run(name)?;
                steps.run(text("()"))?;
                Ok(function)
            })
        })
    })
}

fn field_item(input: &mut Input<'_>) -> Parsed<SelectItem> {
    let all = || Field { name: "*".to_owned(), path: Vec::new() };
    let item_end = |input: &mut Input<'_>| ends(input, &[")", ","]);
    let star = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            steps.run(text("*"))?;
            steps.run(item_end)?;
            Ok(SelectItem::Field { field: all(), aggregate: None, aggregate_cast: None, cast: None, alias: None })
        })
    };
    let count = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            let alias = steps.run(alias)?;
            steps.run(text("count()"))?;
            let aggregate_cast = steps.run(cast)?;
            steps.run(item_end)?;
            Ok(SelectItem::Field {
                field: all(),
                aggregate: Some(AggregateFunction::Count),
                aggregate_cast,
                cast: None,
                alias,
            })
        })
    };
    let column = |input: &mut Input<'_>| {
        sequence(input, |steps| {
            let alias = steps.run(alias)?;
            let field = steps.run(field)?;
            let cast = steps.run(self::cast)?;
            let aggregate = steps.run(aggregate)?;
            let aggregate_cast = steps.run(self::cast)?;
            steps.run(item_end)?;
            Ok(SelectItem::Field { field, aggregate, aggregate_cast, cast, alias })
        })
    };
    lexeme(input, |input| {
        either(input, |input| attempt(input, star), |input| either(input, |input| attempt(input, count), column))
    })
}
