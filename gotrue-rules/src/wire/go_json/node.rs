//! A JSON value as it was written: members in their order with repeated ones included, numbers as their digits.

use serde_json::{Map, Number, Value};

/// A JSON value as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string; it may hold U+0000.
    Text(String),
    /// An array.
    List(Vec<Node>),
    /// An object.
    Object(Vec<(String, Node)>),
}

impl Node {
    /// The value as Go keeps it where no type is asked for: every number a 64-bit float, of repeated members the last.
    ///
    /// # Errors
    ///
    /// Says what the database could not store: U+0000, and numbers too large for a float.
    pub fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(is) => Value::Bool(is),
            Self::Number(digits) => Value::Number(number(&digits)?),
            Self::Text(text) => Value::String(storable(text)?),
            Self::List(items) => Value::Array(items.into_iter().map(Self::into_value).collect::<Result<_, _>>()?),
            Self::Object(members) => Value::Object(Map::from_iter(into_members(members)?)),
        })
    }

    /// What the value is, for complaints: never what it holds.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(is) => Self::Bool(is),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::Object(members.into_iter().map(|(name, value)| (name, Self::from(value))).collect())
            }
        }
    }
}

/// Members with their values as Go keeps them, repeated ones included.
pub(super) fn into_members(members: Vec<(String, Node)>) -> Result<Vec<(String, Value)>, String> {
    members.into_iter().map(|(name, node)| Ok((storable(name)?, node.into_value()?))).collect()
}

/// A number as a 64-bit float, whole ones written whole.
fn number(digits: &str) -> Result<Number, String> {
    let read = digits.parse::<f64>().ok().filter(|number| number.is_finite()).and_then(as_go_writes);
    read.ok_or_else(|| "a number is too large for 64 bits".to_owned())
}

/// The database stores no text with U+0000, and would fail where a caller can be told.
pub(super) fn storable(text: String) -> Result<String, String> {
    if text.contains('\0') { Err("the character U+0000 cannot be stored; leave it out".to_owned()) } else { Ok(text) }
}

/// A float as Go would write it: whole ones without a fraction.
#[expect(clippy::cast_possible_truncation, reason = "the range is looked at first")]
pub fn as_go_writes(number: f64) -> Option<Number> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) {
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
}
