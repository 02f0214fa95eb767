//! Grammar of the values of the query string.

use super::parsec::{
    Failure, Input, Reply, Steps, attempt, either, end, label, look_ahead, many, nested, not_followed_by, optional,
    satisfy, separated, sequence, succeed, take_while, text,
};
use super::tree::{
    AggregateFunction, EmbedPath, Field, Filter, FullTextOperator, IsValue, JoinType, JsonOperand, JsonOperation,
    LogicOperator, LogicTree, Operation, OrderDirection, OrderNulls, OrderTerm, QuantifiableOperator, Quantifier,
    SelectItem, SelectNode, SimpleOperator,
};

/// Blanks.
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
        let digit = |input: &mut Input<'_>| label(input, "digit", |input| satisfy(input, |it| it.is_ascii_digit()));
        let first = steps.run(digit)?;
        let rest = steps.run(|input| many(input, digit))?;
        steps.run(|input| ends(input, &["->", "::", ".", ","]))?;
        Ok([sign, first].into_iter().chain(rest).collect())
    })
}

/// `->key->>0`
fn json_path(input: &mut Input<'_>) -> Reply<Vec<JsonOperation>> {
    many(input, |input| {
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

/// The items of `select`. What follows is ignored.
pub(super) fn select(input: &mut Input<'_>) -> Reply<Vec<SelectNode>> {
    either(input, |input| separated(input, select_node, symbol(",")), |input| succeed(input, Vec::new()))
}

fn select_node(input: &mut Input<'_>) -> Reply<SelectNode> {
    let with_children = |item: fn(&mut Input<'_>) -> Reply<SelectItem>| {
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
fn alias(input: &mut Input<'_>) -> Reply<Option<String>> {
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

fn embed_parameters(steps: &mut Steps<'_, '_>) -> Result<(Option<String>, Option<JoinType>), Failure> {
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
            Some(EmbedParameter::Hint(it)) => hint = hint.or(Some(it)),
            Some(EmbedParameter::Join(it)) => join = join.or(Some(it)),
            None => {}
        }
    }
    steps.run(|input| attempt(input, |input| look_ahead(input, text("("))))?;
    Ok((hint, join))
}

fn spread_item(input: &mut Input<'_>) -> Reply<SelectItem> {
    lexeme(input, |input| {
        sequence(input, |steps| {
            steps.run(text("..."))?;
            let relation = steps.run(field_name)?;
            let (hint, join) = embed_parameters(steps)?;
            Ok(SelectItem::Spread { relation, hint, join })
        })
    })
}

fn relation_item(input: &mut Input<'_>) -> Reply<SelectItem> {
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
fn cast(input: &mut Input<'_>) -> Reply<Option<String>> {
    optional(input, |input| {
        sequence(input, |steps| {
            steps.run(text("::"))?;
            steps.run(identifier)
        })
    })
}

/// `.sum()`
fn aggregate(input: &mut Input<'_>) -> Reply<Option<AggregateFunction>> {
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

fn field_item(input: &mut Input<'_>) -> Reply<SelectItem> {
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

/// The terms of `order`.
pub(super) fn order(input: &mut Input<'_>) -> Reply<Vec<OrderTerm>> {
    separated(
        input,
        |input| lexeme(input, |input| either(input, |input| attempt(input, related_order_term), order_term)),
        text(","),
    )
}

fn order_term(input: &mut Input<'_>) -> Reply<OrderTerm> {
    sequence(input, |steps| {
        let field = steps.run(field)?;
        let (direction, nulls) = order_modifiers(steps)?;
        Ok(OrderTerm { relation: None, field, direction, nulls })
    })
}

fn related_order_term(input: &mut Input<'_>) -> Reply<OrderTerm> {
    sequence(input, |steps| {
        let relation = Some(steps.run(field_name)?);
        let field = steps.run(|input| parenthesized(input, field))?;
        let (direction, nulls) = order_modifiers(steps)?;
        Ok(OrderTerm { relation, field, direction, nulls })
    })
}

/// A dot and a word, or nothing.
fn order_modifier<T: Copy>(input: &mut Input<'_>, words: [(&'static str, T); 2]) -> Reply<Option<T>> {
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

fn order_modifiers(steps: &mut Steps<'_, '_>) -> Result<(Option<OrderDirection>, Option<OrderNulls>), Failure> {
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

/// The value of `and` and `or`, with the operator before it. What follows is ignored.
pub(super) fn logic_tree(input: &mut Input<'_>) -> Reply<LogicTree> {
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
fn negation(input: &mut Input<'_>) -> Reply<bool> {
    attempt(input, |input| {
        sequence(input, |steps| {
            steps.run(text("not"))?;
            steps.run(delimiter)?;
            Ok(true)
        })
    })
}

/// A value inside a logic tree: quoted, an array literal, or anything up to `,` or `)`.
fn logic_value(input: &mut Input<'_>) -> Reply<String> {
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
fn whole_quoted(input: &mut Input<'_>) -> Reply<String> {
    attempt(input, |input| {
        sequence(input, |steps| {
            let value = steps.run(quoted)?;
            steps.run(|input| not_followed_by(input, None, |character| !matches!(character, ',' | ')')))?;
            Ok(value)
        })
    })
}

/// Anything up to `,` or `)`.
fn raw_element(input: &mut Input<'_>) -> Reply<String> {
    take_while(input, |character| !matches!(character, ',' | ')')).map(str::to_owned)
}

/// Anything.
fn rest(input: &mut Input<'_>) -> Reply<String> {
    take_while(input, |_| true).map(str::to_owned)
}

/// The value of a filter: `not.eq.5`.
pub(super) fn filter(input: &mut Input<'_>) -> Reply<(bool, Operation)> {
    operator_expression(input, rest)
}

/// The value of a filter, or nothing when it does not begin with an operator: the argument of a function.
pub(super) fn filter_or_argument(input: &mut Input<'_>) -> Reply<Option<(bool, Operation)>> {
    optional(input, filter)
}

fn operator_expression(input: &mut Input<'_>, value: fn(&mut Input<'_>) -> Reply<String>) -> Reply<(bool, Operation)> {
    sequence(input, |steps| {
        let negated = steps.run(|input| either(input, negation, |input| succeed(input, false)))?;
        let operation = steps.run(|input| label(input, "operator (eq, gt, ...)", |input| operation(input, value)))?;
        Ok((negated, operation))
    })
}

/// A word with the delimiter behind, or nothing consumed.
fn operator_word(expected: &'static str) -> impl Fn(&mut Input<'_>) -> Reply<()> {
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
    parser: impl FnOnce(&mut Input<'a>) -> Reply<T>,
) -> impl FnOnce(&mut Input<'a>) -> Reply<T> {
    move |input| {
        sequence(input, |steps| {
            steps.run(operator_word(expected))?;
            steps.run(parser)
        })
    }
}

fn operation(input: &mut Input<'_>, value: fn(&mut Input<'_>) -> Reply<String>) -> Reply<Operation> {
    either(input, operator_then("in", |input| list(input).map(Operation::In)), |input| {
        either(input, operator_then("is", |input| is_value(input).map(Operation::Is)), |input| {
            either(input, operator_then("isdistinct", |input| value(input).map(Operation::IsDistinctFrom)), |input| {
                value_operation(input, value)
            })
        })
    })
}

fn value_operation(input: &mut Input<'_>, value: fn(&mut Input<'_>) -> Reply<String>) -> Reply<Operation> {
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
fn list(input: &mut Input<'_>) -> Reply<Vec<String>> {
    let element = |input: &mut Input<'_>| either(input, whole_quoted, raw_element);
    sequence(input, |steps| {
        steps.run(symbol("("))?;
        let elements = steps.run(|input| separated(input, element, text(",")))?;
        steps.run(symbol(")"))?;
        Ok(elements)
    })
}

/// A text in any case.
fn caseless(expected: &'static str) -> impl Fn(&mut Input<'_>) -> Reply<()> {
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
fn is_value(input: &mut Input<'_>) -> Reply<IsValue> {
    fn any_value(input: &mut Input<'_>, values: &[(&'static str, IsValue)]) -> Reply<IsValue> {
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
