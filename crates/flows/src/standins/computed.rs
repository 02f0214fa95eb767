//! Computations on values that facts of recordings are made of: members, lists, texts, comparisons.
//!
//! Texts are lists of characters, as in the scenarios that the recordings come from; bytes are texts of Latin-1.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::texts;
use crate::FlowError;

/// Answers a computation; `None` if the name is not one.
pub(super) fn call(name: &str, arguments: &Value) -> Result<Option<Value>, FlowError> {
    if let Some(value) = texts::call(name, arguments)? {
        return Ok(Some(value));
    }
    let of = Arguments::new(name, arguments);
    Ok(Some(match name {
        "member" => member(&of)?,
        "member_or" => member(&of).unwrap_or(of.any(2)?.clone()),
        "merge" => merge(&of)?,
        "object" => object(&of)?,
        "names" => names(of.any(0)?).into(),
        "list" => Value::Array(of.items()?.to_vec()),
        "size" => size(of.any(0)?).into(),
        "without" => without(&of)?,
        "sorted" => sorted(&elements(of.any(0)?), Value::clone),
        "sorted_by" => {
            let member = of.text(1)?;
            sorted(of.list(0)?, |item| item.get(member).cloned().unwrap_or_default())
        }
        "sorted_by_presence" => {
            let member = of.text(1)?;
            sorted(of.list(0)?, |item| item.get(member).is_some().into())
        }
        "distinct" => distinct(&elements(of.any(0)?)),
        "common" => common(&elements(of.any(0)?), &elements(of.any(1)?)),
        "smallest" => of.items()?.iter().min_by(|left, right| compare(left, right)).cloned().unwrap_or_default(),
        "sum" => sum(&of)?,
        "difference" => number(of.number(0)? - of.number(1)?, &of)?,
        "remainder" => whole(&of.number(0)?.rem_euclid(of.number(1)?).into()).into(),
        "quotient" => (of.number(0)? / of.number(1)?).into(),
        "rounded" => whole(&of.number(0)?.round_ties_even().into()).into(),
        "magnitude" => number(of.number(0)?.abs(), &of)?,
        "whole" => whole(of.any(0)?).ok_or_else(|| of.wanted("[number]"))?.into(),
        "is_true" => is_true(of.any(0)?).into(),
        "not" => (!is_true(of.any(0)?)).into(),
        "all" => of.items()?.iter().find(|item| !is_true(item)).or(of.items()?.last()).cloned().unwrap_or_default(),
        "any" => of.items()?.iter().find(|item| is_true(item)).or(of.items()?.last()).cloned().unwrap_or_default(),
        "choice" => of.any(if is_true(of.any(0)?) { 1 } else { 2 })?.clone(),
        "equals" => is_equal(of.any(0)?, of.any(1)?).into(),
        "differs" => (!is_equal(of.any(0)?, of.any(1)?)).into(),
        "below" => (compare(of.any(0)?, of.any(1)?) == Ordering::Less).into(),
        "above" => (compare(of.any(0)?, of.any(1)?) == Ordering::Greater).into(),
        "at_most" => (compare(of.any(0)?, of.any(1)?) != Ordering::Greater).into(),
        "at_least" => (compare(of.any(0)?, of.any(1)?) != Ordering::Less).into(),
        "is_in" => is_in(of.any(0)?, of.any(1)?).into(),
        "kind" => kind(of.any(0)?).into(),
        "require" => return require(arguments).map(Some),
        _ => return Ok(None),
    }))
}

/// Fails unless two values are equal, which a recording relies on without showing it.
fn require(arguments: &Value) -> Result<Value, FlowError> {
    let (value, wanted) = (&arguments["value"], &arguments["is"]);
    if is_equal(value, wanted) {
        return Ok(Value::Null);
    }
    Err(FlowError::new(
        format!("a value that the recording relies on is {value} instead of {wanted}"),
        "the responses before this step differ from the recorded ones",
    ))
}

fn member(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let (value, key) = (of.any(0)?, of.any(1)?);
    let found = match (value, key) {
        (Value::Object(members), Value::String(name)) => members.get(name).cloned(),
        (Value::Array(items), Value::Number(_)) => {
            let at = key.as_i64().and_then(|at| usize::try_from(if at < 0 { at + wide(items.len()) } else { at }).ok());
            at.and_then(|at| items.get(at)).cloned()
        }
        (Value::String(text), Value::Number(_)) => {
            let at = key.as_i64().map(|at| if at < 0 { at + wide(text.chars().count()) } else { at });
            at.and_then(|at| text.chars().nth(usize::try_from(at).ok()?)).map(|each| each.to_string().into())
        }
        _ => None,
    };
    found.ok_or_else(|| of.wanted(&format!("[value, member]; there is no {key} in the value")))
}

fn wide(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn merge(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let mut merged = Map::new();
    for part in of.items()? {
        let members = part.as_object().ok_or_else(|| of.wanted("[object, …]"))?;
        merged.extend(members.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    Ok(Value::Object(merged))
}

fn object(of: &Arguments<'_>) -> Result<Value, FlowError> {
    if of.any(0)?.is_object() {
        return of.any(0).cloned();
    }
    let pairs = of.list(0)?.iter().map(|pair| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.clone())));
    let members: Option<Map<String, Value>> = pairs.collect();
    members.map(Value::Object).ok_or_else(|| of.wanted("[[[name, value], …]]"))
}

fn without(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let mut members = of.any(0)?.as_object().cloned().ok_or_else(|| of.wanted("[object, name]"))?;
    members.shift_remove(of.text(1)?);
    Ok(Value::Object(members))
}

/// The items of a list, the names of an object, or the characters of a text.
fn elements(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        Value::Object(_) => names(value),
        Value::String(text) => text.chars().map(|each| each.to_string().into()).collect(),
        _ => Vec::new(),
    }
}

fn common(left: &[Value], right: &[Value]) -> Value {
    let shared: Vec<Value> = left.iter().filter(|item| right.contains(item)).cloned().collect();
    distinct(&shared)
}

fn names(value: &Value) -> Vec<Value> {
    let mut names: Vec<&String> = value.as_object().map(|members| members.keys().collect()).unwrap_or_default();
    names.sort();
    names.into_iter().map(|name| name.as_str().into()).collect()
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::String(text) => text.chars().count(),
        _ => 0,
    }
}

fn sorted(items: &[Value], key: impl Fn(&Value) -> Value) -> Value {
    let mut items = items.to_vec();
    items.sort_by(|left, right| compare(&key(left), &key(right)));
    Value::Array(items)
}

fn distinct(items: &[Value]) -> Value {
    let Value::Array(mut items) = sorted(items, Value::clone) else { return Value::Null };
    items.dedup();
    Value::Array(items)
}

/// Adds numbers, joins texts or lists.
fn sum(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let items = of.items()?;
    if items.iter().all(Value::is_string) {
        return Ok(items.iter().filter_map(Value::as_str).collect::<String>().into());
    }
    if items.iter().all(Value::is_array) {
        return Ok(items.iter().filter_map(Value::as_array).flatten().cloned().collect());
    }
    let mut total = 0.0;
    for item in items {
        total += item.as_f64().ok_or_else(|| of.wanted("[number, number], texts or lists"))?;
    }
    number(total, of)
}

/// Returns a number as an integer if all arguments are integers.
#[expect(clippy::cast_possible_truncation, reason = "sums of times in seconds are below 2^52")]
fn number(value: f64, of: &Arguments<'_>) -> Result<Value, FlowError> {
    let are_whole = of.items()?.iter().all(|item| item.is_i64() || item.is_u64());
    Ok(if are_whole { (value as i64).into() } else { value.into() })
}

#[expect(clippy::cast_possible_truncation, reason = "times in seconds are below 2^52")]
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|value| value as i64)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Bool(value) => Some((*value).into()),
        _ => None,
    }
}

/// Returns whether a value is neither empty, zero, false nor null.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        other => size(other) > 0,
    }
}

fn is_equal(left: &Value, right: &Value) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left.total_cmp(&right) == Ordering::Equal,
        _ => left == right,
    }
}

/// The order of numbers, texts, booleans, and lists of them.
fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let differing =
                left.iter().zip(right).map(|(left, right)| compare(left, right)).find(|order| order.is_ne());
            differing.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        _ => left.as_f64().unwrap_or_default().total_cmp(&right.as_f64().unwrap_or_default()),
    }
}

fn is_in(item: &Value, container: &Value) -> bool {
    match (item, container) {
        (_, Value::Array(items)) => items.iter().any(|other| is_equal(item, other)),
        (Value::String(name), Value::Object(members)) => members.contains_key(name),
        (Value::String(part), Value::String(text)) => text.contains(part.as_str()),
        _ => false,
    }
}

/// Returns the name of the type, as in the scenarios that the recordings come from.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    }
}
