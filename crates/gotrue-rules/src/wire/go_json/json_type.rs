//! Names of JSON types in error messages.

use serde_json::Value;

use super::node::Node;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    Null,
    /// `true` or `false`.
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl JsonType {
    /// Returns the name in JSON Schema.
    pub fn as_str(self) -> &'static str {
        let with_article = self.with_article();
        with_article.split_once(' ').map_or(with_article, |(_, name)| name)
    }

    /// Returns the name with its article.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

impl From<&Value> for JsonType {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

impl From<&Node> for JsonType {
    fn from(node: &Node) -> Self {
        match node {
            Node::Null => Self::Null,
            Node::Bool(_) => Self::Boolean,
            Node::Number(_) => Self::Number,
            Node::Text(_) => Self::String,
            Node::List(_) => Self::Array,
            Node::Object(_) => Self::Object,
        }
    }
}
