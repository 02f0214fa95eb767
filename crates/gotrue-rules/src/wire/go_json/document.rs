//! JSON from other services (providers, issuers, SMS providers, captcha services, hooks).
//!
//! All such JSON is decoded here, like Go's `encoding/json` into a struct.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::decode_error::GoJsonError;
use super::decoding::MemberValues;
use super::json_type::JsonType;
use super::node::{Node, matches_field};
use super::parser::{self, MAX_DEPTH};

/// A JSON document of another service. Types are checked when members are read.
///
/// - Member names ignore letter case; of repeated members the last wins, and objects are merged.
/// - `null` leaves a plain member as if it were absent, and empties an `Option`, a list or a map.
/// - Only members that are read must have their type: a number is not a text, a fraction not an integer.
/// - Invalid UTF-8 and lone surrogates become U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document(Node);

impl Document {
    /// Parses a document with optional white space around it, as `json.Unmarshal` does.
    ///
    /// # Errors
    ///
    /// Invalid JSON, trailing data, or more than [`MAX_DEPTH`] nested arrays and objects.
    pub fn parse(text: &[u8]) -> Result<Self, GoJsonError> {
        parser::parse(text, MAX_DEPTH).map(Self).map_err(GoJsonError)
    }

    /// Parses the first value and ignores what follows it, as `json.NewDecoder(…).Decode` does.
    ///
    /// # Errors
    ///
    /// As for [`Document::parse`].
    pub fn parse_first(text: &[u8]) -> Result<Self, GoJsonError> {
        parser::parse_first(text, MAX_DEPTH).map(Self).map_err(GoJsonError)
    }

    /// Decodes into a struct; its fields need `#[serde(default)]`, since any member may be absent.
    ///
    /// # Errors
    ///
    /// A member has another type than its field, or contains U+0000, which the database cannot store.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, GoJsonError> {
        T::deserialize(MemberValues::from_node(&self.0))
    }

    /// Reads one member of an object; the default if it is absent or the document is `null`.
    ///
    /// # Errors
    ///
    /// As for [`Document::read`], and for a document that is not an object.
    pub fn member<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, GoJsonError> {
        let found: Vec<&Node> =
            self.members()?.iter().filter(|(key, _)| matches_field(key, name)).map(|member| &member.1).collect();
        if found.is_empty() { Ok(T::default()) } else { T::deserialize(MemberValues(found)) }
    }

    /// Returns the members of an object by their exact names, like a Go map.
    ///
    /// # Errors
    ///
    /// For a document that is neither object nor `null`, U+0000, and numbers too large for a 64-bit float.
    pub fn to_map(&self) -> Result<Map<String, Value>, GoJsonError> {
        match self.to_value()? {
            Value::Object(members) => Ok(members),
            Value::Null => Ok(Map::new()),
            _ => Err(GoJsonError(format!("an object is wanted, it is {}", JsonType::from(&self.0).with_article()))),
        }
    }

    /// Returns the whole document, like Go's `interface{}`.
    ///
    /// # Errors
    ///
    /// For U+0000, and for numbers too large for a 64-bit float.
    pub fn to_value(&self) -> Result<Value, GoJsonError> {
        self.0.clone().into_value().map_err(GoJsonError)
    }

    fn members(&self) -> Result<&[(String, Node)], GoJsonError> {
        match &self.0 {
            Node::Object(members) => Ok(members),
            Node::Null => Ok(&[]),
            other => Err(GoJsonError(format!("an object is wanted, it is {}", JsonType::from(other).with_article()))),
        }
    }
}

/// The empty document.
impl Default for Document {
    fn default() -> Self {
        Self(Node::Null)
    }
}

/// Sorts the members by name, like a Go map.
impl From<Map<String, Value>> for Document {
    fn from(members: Map<String, Value>) -> Self {
        let mut members: Vec<_> = members.into_iter().map(|(name, value)| (name, Node::from(value))).collect();
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        Self(Node::Object(members))
    }
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self(Node::from(value))
    }
}

#[cfg(test)]
mod tests;
