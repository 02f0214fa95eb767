//! Request bodies, decoded as the reference decodes them (Go's `encoding/json` into a struct): member names in any
//! letter case, the last of several wins, `null` leaves a plain member as it was, unknown members are ignored.
//! A complaint names the member and the type it wants; the words are ours. What other services send is a [`Document`].

mod decoding;
mod document;
mod node;
mod parser;

use std::fmt;

use serde_json::{Map, Value};

pub use self::decoding::{OneOrMany, Seconds, Told, WholeNumber};
pub use self::document::Document;
pub(crate) use self::node::as_go_writes;
use self::node::{Node, into_members};
use crate::domain::error;

/// A decoded body: the members of its top-level object, in the order they came, repeated ones included.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object(Vec<(String, Value)>);

/// Why a body could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// What nearly every endpoint answers: 400 `bad_json`.
impl From<Error> for error::Error {
    fn from(error: Error) -> Self {
        Self::bad_request("bad_json", format!("Could not parse request body as JSON: {error}"))
    }
}

/// How deep arrays and objects may lie in each other, the body itself counted. The reference allows 10000; a deeper
/// value than this could be stored, but not read back by `serde_json`, and would lock its owner out.
pub const MAX_DEPTH: usize = 100;

/// Decodes any one value; of members given twice the last counts.
pub fn value(text: &[u8]) -> Result<Value, Error> {
    parser::parse(text, MAX_DEPTH).and_then(Node::into_value).map_err(Error)
}

impl Object {
    /// Decodes a body: one JSON object, or `null`, which is an object without members.
    ///
    /// Text in strings is repaired as Go does it: bytes that are no UTF-8 and lone surrogates become U+FFFD.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        Self::of(parser::parse(body, MAX_DEPTH).map_err(Error)?)
    }

    /// Decodes the first value of a body; what comes after it is not looked at.
    pub fn parse_first(body: &[u8]) -> Result<Self, Error> {
        Self::of(parser::parse_first(body, MAX_DEPTH).map_err(Error)?)
    }

    fn of(parsed: Node) -> Result<Self, Error> {
        match parsed {
            Node::Object(members) => into_members(members).map(Self).map_err(Error),
            Node::Null => Ok(Self::default()),
            other => Err(Error(format!("the body must be an object, it is {}", other.kind()))),
        }
    }

    /// The object that a member holds, as the members of a nested structure; empty if the member is absent.
    pub fn nested(&self, name: &str) -> Result<Self, Error> {
        let mut members = Vec::new();
        for value in self.values(name).filter(|value| !value.is_null()) {
            let Value::Object(object) = value else { return Err(mistyped(name, "an object", value)) };
            members.extend(object.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        Ok(Self(members))
    }

    /// A text; `""` if absent.
    pub fn string(&self, name: &str) -> Result<String, Error> {
        Ok(self.plain(name, "a string", |value| value.as_str().map(str::to_owned))?.unwrap_or_default())
    }

    /// A text that may be absent; a later `null` takes an earlier one back.
    pub fn opt_string(&self, name: &str) -> Result<Option<String>, Error> {
        self.pointer(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// A truth value; `false` if absent.
    pub fn bool(&self, name: &str) -> Result<bool, Error> {
        self.bool_or(name, false)
    }

    /// A truth value; `absent` if absent.
    pub fn bool_or(&self, name: &str, absent: bool) -> Result<bool, Error> {
        Ok(self.plain(name, "a boolean", Value::as_bool)?.unwrap_or(absent))
    }

    /// A truth value that may be absent.
    pub fn opt_bool(&self, name: &str) -> Result<Option<bool>, Error> {
        self.pointer(name, "a boolean", Value::as_bool)
    }

    /// A number; 0 if absent.
    pub fn number(&self, name: &str) -> Result<f64, Error> {
        Ok(self.plain(name, "a number", Value::as_f64)?.unwrap_or_default())
    }

    /// A whole number that may be absent.
    pub fn opt_integer(&self, name: &str) -> Result<Option<i64>, Error> {
        self.pointer(name, "a whole number", Value::as_i64)
    }

    /// An object of any members that may be absent. Given twice, the members of both are kept, as Go does it.
    pub fn opt_object(&self, name: &str) -> Result<Option<Map<String, Value>>, Error> {
        let mut found: Option<Map<String, Value>> = None;
        for value in self.values(name) {
            match value {
                Value::Null => found = None,
                Value::Object(object) => found.get_or_insert_default().extend(object.clone()),
                other => return Err(mistyped(name, "an object", other)),
            }
        }
        Ok(found)
    }

    /// A list of texts that may be absent; a `null` in it is an empty text.
    pub fn opt_strings(&self, name: &str) -> Result<Option<Vec<String>>, Error> {
        let texts = |value: &Value| {
            let text =
                |item: &Value| if item.is_null() { Some(String::new()) } else { item.as_str().map(str::to_owned) };
            value.as_array()?.iter().map(text).collect()
        };
        self.pointer(name, "an array of strings", texts)
    }

    /// Any value; `None` if absent or `null`.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let (_, value) = self.0.iter().rev().find(|(key, _)| same_name(key, name))?;
        Some(value).filter(|value| !value.is_null())
    }

    /// Any value as it came, `null` too; `None` if absent.
    pub fn raw(&self, name: &str) -> Option<&Value> {
        self.0.iter().rev().find(|(key, _)| same_name(key, name)).map(|(_, value)| value)
    }

    /// Every value of members with this name.
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |(key, _)| same_name(key, name)).map(|(_, value)| value)
    }

    /// A member that is no pointer: `null` leaves what was there.
    fn plain<T>(&self, name: &str, wants: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, Error> {
        let mut found = None;
        for value in self.values(name).filter(|value| !value.is_null()) {
            found = Some(read(value).ok_or_else(|| mistyped(name, wants, value))?);
        }
        Ok(found)
    }

    /// A member that is a pointer: `null` empties it.
    fn pointer<T>(&self, name: &str, wants: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, Error> {
        let mut found = None;
        for value in self.values(name) {
            found = match value {
                Value::Null => None,
                value => Some(read(value).ok_or_else(|| mistyped(name, wants, value))?),
            };
        }
        Ok(found)
    }
}

/// Whether a member's name is the one of a field: letter case aside, and with the two letters outside ASCII that fold
/// to one inside (long s and the Kelvin sign), as Go compares.
fn same_name(key: &str, name: &str) -> bool {
    let fold = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key.chars().map(fold).eq(name.chars().map(fold))
}

fn mistyped(name: &str, wants: &str, got: &Value) -> Error {
    Error(format!("the field {name} must be {wants}, it is {}", kind_with_article(got)))
}

fn kind_with_article(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(body: &str) -> Object {
        Object::parse(body.as_bytes()).unwrap()
    }

    fn complaint(body: &str) -> String {
        error::Error::from(Object::parse(body.as_bytes()).unwrap_err()).to_string()
    }

    #[test]
    fn only_the_first_value_counts_where_that_is_asked() {
        for body in [&b"{\"a\":\"x\"} more"[..], b" {\"a\":\"x\"}{\"a\":\"y\"}", b"{\"a\":\"x\"}\xff"] {
            assert_eq!(Object::parse_first(body).unwrap().string("a").unwrap(), "x");
            assert!(Object::parse(body).is_err());
        }
        for body in ["", "{", "[]{}", "more {}"] {
            assert!(Object::parse_first(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn bodies_that_are_no_object_are_bad_json() {
        let words = "400: Could not parse request body as JSON: ";
        assert_eq!(complaint(""), format!("{words}unexpected end of JSON input"));
        for body in ["{", "[]", "\"text\"", "7", "true", "{} more", "\0", "{\"a\":1,}", "{'a':1}", "nul", "\u{feff}{}"]
        {
            assert!(complaint(body).starts_with(words), "{body}");
        }
        assert_eq!(object("null"), Object::default());
        assert_eq!(object(" \t\r\n{} \n"), Object::default());
    }

    #[test]
    fn members_are_found_in_any_letter_case_and_the_last_wins() {
        let body = object(r#"{"EMAIL":"a","email":"b","Email":"c"}"#);
        assert_eq!(body.string("email").unwrap(), "c");
        assert_eq!(object(r#"{"pa\u017f\u017fword":"x"}"#).string("password").unwrap(), "x");
        assert_eq!(object(r#"{"é":"x"}"#).string("É").unwrap(), "");
    }

    #[test]
    fn null_leaves_a_plain_member_and_empties_a_pointer() {
        let body = object(r#"{"a":"x","a":null}"#);
        assert_eq!(body.string("a").unwrap(), "x");
        assert_eq!(body.opt_string("a").unwrap(), None);
        assert_eq!(object(r#"{"a":null}"#).string("a").unwrap(), "");
        assert_eq!(object(r#"{"a":""}"#).opt_string("a").unwrap(), Some(String::new()));
    }

    #[test]
    fn a_wrong_type_is_told_with_the_field_and_what_it_wants() {
        let body = object(r#"{"a":7,"b":"x","c":[],"d":true}"#);
        let said = |error: Error| error.to_string();
        assert_eq!(said(body.string("a").unwrap_err()), "the field a must be a string, it is a number");
        assert_eq!(said(body.bool("b").unwrap_err()), "the field b must be a boolean, it is a string");
        assert_eq!(said(body.opt_object("c").unwrap_err()), "the field c must be an object, it is an array");
        assert_eq!(said(body.number("d").unwrap_err()), "the field d must be a number, it is a boolean");
        assert_eq!(said(body.nested("d").unwrap_err()), "the field d must be an object, it is a boolean");
        assert!(body.opt_strings("a").is_err());
        assert!(object(r#"{"a":1.5}"#).opt_integer("a").is_err());
    }

    #[test]
    fn an_early_value_of_the_wrong_type_is_refused_although_a_later_one_fits() {
        assert!(object(r#"{"a":7,"a":"x"}"#).string("a").is_err());
    }

    #[test]
    fn objects_given_twice_keep_the_members_of_both() {
        let body = object(r#"{"data":{"a":1,"b":1},"data":{"b":2}}"#);
        assert_eq!(Value::Object(body.opt_object("data").unwrap().unwrap()), json!({"a":1,"b":2}));
        assert_eq!(object(r#"{"data":{"a":1},"data":null}"#).opt_object("data").unwrap(), None);
        let nested = object(r#"{"m":{"t":"x"},"m":{"T":"y"},"m":null}"#).nested("m").unwrap();
        assert_eq!(nested.string("t").unwrap(), "y");
    }

    #[test]
    fn lists_numbers_and_any_values_are_read() {
        let body = object(r#"{"l":["a",null],"n":2.5,"i":-3,"v":[1],"w":null}"#);
        assert_eq!(body.opt_strings("l").unwrap(), Some(vec!["a".into(), String::new()]));
        assert!((body.number("n").unwrap() - 2.5).abs() < f64::EPSILON);
        assert_eq!(body.opt_integer("i").unwrap(), Some(-3));
        assert_eq!(body.value("v"), Some(&json!([1])));
        assert_eq!((body.value("w"), body.value("x")), (None, None));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Object::parse(&bytes);
        }

        #[test]
        fn nearly_json_does_not_make_it_panic(text in r#"[\[\]{}:,"\\u0-9a-fA-F.eE+\-ntrl ]{0,80}"#) {
            let _ = Object::parse(text.as_bytes());
        }

        #[test]
        fn what_serde_writes_is_read_alike(text in any::<String>(), number in any::<i32>(), yes in any::<bool>()) {
            let value = json!({"text": text, "list": [number, yes, null], "deep": {"x": {"y": number}}});
            let body = Object::parse(value.to_string().as_bytes()).unwrap();
            prop_assert_eq!(body.string("text").unwrap(), text);
            prop_assert_eq!(body.value("list").unwrap(), &value["list"]);
            prop_assert_eq!(body.value("deep").unwrap(), &value["deep"]);
        }
    }
}
