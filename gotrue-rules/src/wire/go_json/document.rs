//! JSON from other services (providers, issuers, senders, verifiers, hooks), read as Go's `encoding/json` reads it into a
//! struct: the one place where such JSON is decoded.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::decoding::Input;
use super::node::Node;
use super::{Error, MAX_DEPTH, parser, same_name};

/// A JSON document of another service. Nothing of it is checked until it is read.
///
/// - Members are found in any letter case; of repeated ones the last wins, objects among them are merged.
/// - `null` leaves a plain member as if it were absent, and empties an `Option`, a list or a map.
/// - Only members that are read must have their type: a number is no text, a fraction no whole number.
/// - Bytes that are no UTF-8, and lone surrogates, become U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document(Node);

impl Document {
    /// Parses a document with nothing but white space around it, as `json.Unmarshal` does.
    ///
    /// # Errors
    ///
    /// Anything else, and more than [`MAX_DEPTH`] arrays and objects in each other.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        parser::parse(text, MAX_DEPTH).map(Self).map_err(Error)
    }

    /// Parses the first value and ignores what follows it, as `json.NewDecoder(…).Decode` does.
    ///
    /// # Errors
    ///
    /// As for [`Document::parse`].
    pub fn parse_first(text: &[u8]) -> Result<Self, Error> {
        parser::parse_first(text, MAX_DEPTH).map(Self).map_err(Error)
    }

    /// Reads the document into a struct; its fields want `#[serde(default)]`, since anything may be absent.
    ///
    /// # Errors
    ///
    /// A member that is read has another type than its field, or is a text with U+0000, which the database stores nowhere.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        T::deserialize(Input::of(&self.0))
    }

    /// Reads one member of an object; its default if it is absent or the document is `null`.
    ///
    /// # Errors
    ///
    /// As for [`Document::read`], and for a document that is no object.
    pub fn member<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, Error> {
        let found: Vec<&Node> =
            self.members()?.iter().filter(|(key, _)| same_name(key, name)).map(|it| &it.1).collect();
        if found.is_empty() { Ok(T::default()) } else { T::deserialize(Input(found)) }
    }

    /// The members of an object by their exact names, as Go keeps them in a map.
    ///
    /// # Errors
    ///
    /// For a document that is neither an object nor `null`, U+0000, and numbers too large for a 64-bit float.
    pub fn to_map(&self) -> Result<Map<String, Value>, Error> {
        match self.to_value()? {
            Value::Object(members) => Ok(members),
            Value::Null => Ok(Map::new()),
            _ => Err(Error(format!("an object is wanted, it is {}", self.0.kind()))),
        }
    }

    /// The whole document as Go keeps it in an `interface{}`.
    ///
    /// # Errors
    ///
    /// For U+0000, and for numbers too large for a 64-bit float.
    pub fn to_value(&self) -> Result<Value, Error> {
        self.0.clone().into_value().map_err(Error)
    }

    fn members(&self) -> Result<&[(String, Node)], Error> {
        match &self.0 {
            Node::Object(members) => Ok(members),
            Node::Null => Ok(&[]),
            other => Err(Error(format!("an object is wanted, it is {}", other.kind()))),
        }
    }
}

/// A document without members.
impl Default for Document {
    fn default() -> Self {
        Self(Node::Null)
    }
}

/// A document with these members, in the order in which Go writes a map: by name.
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
