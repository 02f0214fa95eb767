//! A JSON value as written: members in order with repeated ones, numbers as digits.

use serde_json::{Map, Number, Value};

/// A JSON value as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string; may contain U+0000.
    Text(String),
    /// An array.
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// Converts like Go's `interface{}`: numbers are 64-bit floats, the last of repeated members wins.
    ///
    /// # Errors
    ///
    /// For U+0000, which the database cannot store, and for numbers too large for a float.
    pub fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(is) => Value::Bool(is),
            Self::Number(digits) => Value::Number(parse_number(&digits)?),
            Self::Text(text) => Value::String(require_storable(text)?),
            Self::List(items) => Value::Array(items.into_iter().map(Self::into_value).collect::<Result<_, _>>()?),
            Self::Object(members) => Value::Object(Map::from_iter(into_members(members)?)),
        })
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

/// Converts the members' values like Go, keeping repeated members.
pub(super) fn into_members(members: Vec<(String, Node)>) -> Result<Vec<(String, Value)>, String> {
    members.into_iter().map(|(name, node)| Ok((require_storable(name)?, node.into_value()?))).collect()
}

/// Parses a number as a 64-bit float; integers have no fraction.
fn parse_number(digits: &str) -> Result<Number, String> {
    let read = digits.parse::<f64>().ok().filter(|number| number.is_finite()).and_then(go_number);
    read.ok_or_else(|| "a number is too large for 64 bits".to_owned())
}

/// Rejects U+0000, which the database cannot store.
pub(super) fn require_storable(text: String) -> Result<String, String> {
    if text.contains('\0') { Err("the character U+0000 cannot be stored; leave it out".to_owned()) } else { Ok(text) }
}

/// Converts a float to a number as Go formats it: integers without a fraction.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
pub(crate) fn go_number(number: f64) -> Option<Number> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) {
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
}

/// Whether a member name matches a field, as in Go: ignoring case.
/// The long s and the Kelvin sign fold to ASCII letters.
pub(super) fn matches_field(key: &str, name: &str) -> bool {
    let fold = |character: char| match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key.chars().map(fold).eq(name.chars().map(fold))
}
