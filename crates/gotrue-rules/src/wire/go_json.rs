//! Decoding of request bodies like Go's `encoding/json` into a struct, and writing of responses.
//!
//! Member names ignore letter case, the last repeated member wins, `null` leaves a plain member unchanged, unknown
//! members are ignored. Errors name the member and its type, with wording of this crate. JSON from other services is a
//! [`Document`].

mod decode_error;
mod decoding;
mod document;
mod json_type;
mod node;
mod parser;

use foundation::error;
pub use go_json::{to_string, to_vec};
use serde_json::{Map, Value};

pub use self::decode_error::GoJsonError;
pub use self::decoding::{NumericDate, OneOrMany, UnstoredText, WholeNumber};
pub use self::document::Document;
pub use self::json_type::JsonType;
pub(crate) use self::node::go_number;
use self::node::{Node, into_members, matches_field};
pub use self::parser::MAX_DEPTH;

/// A decoded body: the members of the top-level object in order, repeated ones included.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object(Vec<(String, Value)>);

/// Most endpoints answer 400 `bad_json`.
impl From<GoJsonError> for error::Error {
    fn from(error: GoJsonError) -> Self {
        Self::new(error::ErrorCode::BadJson, format!("Could not parse request body as JSON: {error}"))
    }
}

/// Decodes any value; of repeated members the last one wins.
pub fn parse_value(text: &[u8]) -> Result<Value, GoJsonError> {
    parser::parse(text, MAX_DEPTH).and_then(Node::into_value).map_err(GoJsonError)
}

impl Object {
    /// Decodes a body: one JSON object, or `null`, which is an object without members.
    ///
    /// Invalid UTF-8 and lone surrogates in strings become U+FFFD, as in Go.
    pub fn parse(body: &[u8]) -> Result<Self, GoJsonError> {
        Self::from_node(parser::parse(body, MAX_DEPTH).map_err(GoJsonError)?)
    }

    /// Decodes the first value of a body and ignores the rest.
    pub fn parse_first(body: &[u8]) -> Result<Self, GoJsonError> {
        Self::from_node(parser::parse_first(body, MAX_DEPTH).map_err(GoJsonError)?)
    }

    fn from_node(parsed: Node) -> Result<Self, GoJsonError> {
        match parsed {
            Node::Object(members) => into_members(members).map(Self).map_err(GoJsonError),
            Node::Null => Ok(Self::default()),
            other => {
                Err(GoJsonError(format!("the body must be an object, it is {}", JsonType::from(&other).with_article())))
            }
        }
    }

    /// Returns the object in a member; empty if absent.
    pub fn nested(&self, name: &str) -> Result<Self, GoJsonError> {
        let mut members = Vec::new();
        for value in self.values(name).filter(|value| !value.is_null()) {
            let Value::Object(object) = value else { return Err(type_error(name, "an object", value)) };
            members.extend(object.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        Ok(Self(members))
    }

    /// Reads a text; `""` if absent.
    pub fn string(&self, name: &str) -> Result<String, GoJsonError> {
        Ok(self.read_plain(name, "a string", |value| value.as_str().map(str::to_owned))?.unwrap_or_default())
    }

    /// Reads an optional text; a later `null` overrides an earlier value.
    pub fn opt_string(&self, name: &str) -> Result<Option<String>, GoJsonError> {
        self.read_pointer(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// Reads a boolean; `false` if absent.
    pub fn bool(&self, name: &str) -> Result<bool, GoJsonError> {
        self.bool_or(name, false)
    }

    /// Reads a boolean; `absent` if absent.
    pub fn bool_or(&self, name: &str, absent: bool) -> Result<bool, GoJsonError> {
        Ok(self.read_plain(name, "a boolean", Value::as_bool)?.unwrap_or(absent))
    }

    /// Reads an optional boolean.
    pub fn opt_bool(&self, name: &str) -> Result<Option<bool>, GoJsonError> {
        self.read_pointer(name, "a boolean", Value::as_bool)
    }

    /// Reads a number; 0 if absent.
    pub fn number(&self, name: &str) -> Result<f64, GoJsonError> {
        Ok(self.read_plain(name, "a number", Value::as_f64)?.unwrap_or_default())
    }

    /// Reads an optional integer.
    pub fn opt_integer(&self, name: &str) -> Result<Option<i64>, GoJsonError> {
        self.read_pointer(name, "a whole number", Value::as_i64)
    }

    /// Reads an optional object. Members of repeated objects are merged, as in Go.
    pub fn opt_object(&self, name: &str) -> Result<Option<Map<String, Value>>, GoJsonError> {
        let mut found: Option<Map<String, Value>> = None;
        for value in self.values(name) {
            match value {
                Value::Null => found = None,
                Value::Object(object) => found.get_or_insert_default().extend(object.clone()),
                other => return Err(type_error(name, "an object", other)),
            }
        }
        Ok(found)
    }

    /// Reads an optional list of texts; a `null` item is an empty text.
    pub fn opt_strings(&self, name: &str) -> Result<Option<Vec<String>>, GoJsonError> {
        let texts = |value: &Value| {
            let text =
                |item: &Value| if item.is_null() { Some(String::new()) } else { item.as_str().map(str::to_owned) };
            value.as_array()?.iter().map(text).collect()
        };
        self.read_pointer(name, "an array of strings", texts)
    }

    /// Returns any value; `None` if absent or `null`.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let (_, value) = self.0.iter().rev().find(|(key, _)| matches_field(key, name))?;
        Some(value).filter(|value| !value.is_null())
    }

    /// Returns any value, `null` included; `None` if absent.
    pub fn raw(&self, name: &str) -> Option<&Value> {
        self.0.iter().rev().find(|(key, _)| matches_field(key, name)).map(|(_, value)| value)
    }

    /// Returns all values of members with this name.
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |(key, _)| matches_field(key, name)).map(|(_, value)| value)
    }

    /// Reads a non-pointer member: `null` leaves the earlier value.
    fn read_plain<T>(
        &self,
        name: &str,
        wants: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, GoJsonError> {
        let mut found = None;
        for value in self.values(name).filter(|value| !value.is_null()) {
            found = Some(read(value).ok_or_else(|| type_error(name, wants, value))?);
        }
        Ok(found)
    }

    /// Reads a pointer member: `null` clears it.
    fn read_pointer<T>(
        &self,
        name: &str,
        wants: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, GoJsonError> {
        let mut found = None;
        for value in self.values(name) {
            found = match value {
                Value::Null => None,
                value => Some(read(value).ok_or_else(|| type_error(name, wants, value))?),
            };
        }
        Ok(found)
    }
}

fn type_error(name: &str, wants: &str, got: &Value) -> GoJsonError {
    GoJsonError(format!("the field {name} must be {wants}, it is {}", JsonType::from(got).with_article()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(body: &str) -> Object {
        Object::parse(body.as_bytes()).unwrap()
    }

    fn error_message(body: &str) -> String {
        error::Error::from(Object::parse(body.as_bytes()).unwrap_err()).to_string()
    }

    #[test]
    fn parse_first_ignores_rest() {
        for body in [&b"{\"a\":\"x\"} more"[..], b" {\"a\":\"x\"}{\"a\":\"y\"}", b"{\"a\":\"x\"}\xff"] {
            assert_eq!(Object::parse_first(body).unwrap().string("a").unwrap(), "x");
            assert!(Object::parse(body).is_err());
        }
        for body in ["", "{", "[]{}", "more {}"] {
            assert!(Object::parse_first(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn non_object_body_is_bad_json() {
        let words = "400: Could not parse request body as JSON: ";
        assert_eq!(error_message(""), format!("{words}unexpected end of JSON input"));
        for body in ["{", "[]", "\"text\"", "7", "true", "{} more", "\0", "{\"a\":1,}", "{'a':1}", "nul", "\u{feff}{}"]
        {
            assert!(error_message(body).starts_with(words), "{body}");
        }
        assert_eq!(object("null"), Object::default());
        assert_eq!(object(" \t\r\n{} \n"), Object::default());
    }

    #[test]
    fn member_names_ignore_case_and_last_wins() {
        let body = object(r#"{"EMAIL":"a","email":"b","Email":"c"}"#);
        assert_eq!(body.string("email").unwrap(), "c");
        assert_eq!(object(r#"{"pa\u017f\u017fword":"x"}"#).string("password").unwrap(), "x");
        assert_eq!(object(r#"{"é":"x"}"#).string("É").unwrap(), "");
    }

    #[test]
    fn null_keeps_plain_member_and_clears_pointer() {
        let body = object(r#"{"a":"x","a":null}"#);
        assert_eq!(body.string("a").unwrap(), "x");
        assert_eq!(body.opt_string("a").unwrap(), None);
        assert_eq!(object(r#"{"a":null}"#).string("a").unwrap(), "");
        assert_eq!(object(r#"{"a":""}"#).opt_string("a").unwrap(), Some(String::new()));
    }

    #[test]
    fn type_error_names_member_and_type() {
        let body = object(r#"{"a":7,"b":"x","c":[],"d":true}"#);
        let text = |error: GoJsonError| error.to_string();
        assert_eq!(text(body.string("a").unwrap_err()), "the field a must be a string, it is a number");
        assert_eq!(text(body.bool("b").unwrap_err()), "the field b must be a boolean, it is a string");
        assert_eq!(text(body.opt_object("c").unwrap_err()), "the field c must be an object, it is an array");
        assert_eq!(text(body.number("d").unwrap_err()), "the field d must be a number, it is a boolean");
        assert_eq!(text(body.nested("d").unwrap_err()), "the field d must be an object, it is a boolean");
        assert!(body.opt_strings("a").is_err());
        assert!(object(r#"{"a":1.5}"#).opt_integer("a").is_err());
    }

    #[test]
    fn repeated_member_with_wrong_type_is_rejected() {
        assert!(object(r#"{"a":7,"a":"x"}"#).string("a").is_err());
    }

    #[test]
    fn repeated_objects_are_merged() {
        let body = object(r#"{"data":{"a":1,"b":1},"data":{"b":2}}"#);
        assert_eq!(Value::Object(body.opt_object("data").unwrap().unwrap()), json!({"a":1,"b":2}));
        assert_eq!(object(r#"{"data":{"a":1},"data":null}"#).opt_object("data").unwrap(), None);
        let nested = object(r#"{"m":{"t":"x"},"m":{"T":"y"},"m":null}"#).nested("m").unwrap();
        assert_eq!(nested.string("t").unwrap(), "y");
    }

    #[test]
    fn lists_numbers_and_any_values_decode() {
        let body = object(r#"{"l":["a",null],"n":2.5,"i":-3,"v":[1],"w":null}"#);
        assert_eq!(body.opt_strings("l").unwrap(), Some(vec!["a".into(), String::new()]));
        assert!((body.number("n").unwrap() - 2.5).abs() < f64::EPSILON);
        assert_eq!(body.opt_integer("i").unwrap(), Some(-3));
        assert_eq!(body.value("v"), Some(&json!([1])));
        assert_eq!((body.value("w"), body.value("x")), (None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Object::parse(&bytes);
        }

        #[test]
        fn nearly_valid_json_decodes_without_panic(text in r#"[\[\]{}:,"\\u0-9a-fA-F.eE+\-ntrl ]{0,80}"#) {
            let _ = Object::parse(text.as_bytes());
        }

        #[test]
        fn serde_json_output_round_trips(text in any::<String>(), number in any::<i32>(), yes in any::<bool>()) {
            let value = json!({"text": text, "list": [number, yes, null], "deep": {"x": {"y": number}}});
            let body = Object::parse(value.to_string().as_bytes()).unwrap();
            prop_assert_eq!(body.string("text").unwrap(), text);
            prop_assert_eq!(body.value("list").unwrap(), &value["list"]);
            prop_assert_eq!(body.value("deep").unwrap(), &value["deep"]);
        }
    }
}
