//! A provider's JSON in the shape that it documents, read as the reference reads it (Go's `encoding/json` into a struct):
//! member names in any letter case, null as if it were absent, unknown members ignored. A member of another type than
//! documented is an error.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};

use crate::wire::go_json::as_go_writes;

/// A provider's answer that tells nothing of a person. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider's answer cannot be used: {0}")]
pub struct BadAnswer(pub String);

/// An answer in the shape that a provider documents. What a struct reads wants `#[serde(default)]`: anything may be absent.
pub fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, BadAnswer> {
    T::deserialize(Answer(answer)).map_err(|error| {
        // What was there instead is the person's, and not for a log.
        let wanted = error.to_string().rsplit_once("expected ").map_or("another type", |(_, wanted)| wanted).to_owned();
        BadAnswer(format!("a member is not of the type that is documented: {wanted}"))
    })
}

/// A person's id that is a number. 0 is what an answer without one reads as, and nobody: else all of them would be one.
pub fn id(number: i64) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}

/// What nobody documents, as the reference keeps it: every number a 64-bit float, a whole one written whole.
pub fn as_floats(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().and_then(as_go_writes).map_or(Value::Null, Value::Number),
        Value::Array(items) => items.into_iter().map(as_floats).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, as_floats(value))).collect(),
        other => other,
    }
}

/// A value of an answer.
#[derive(Debug, Clone, Copy)]
struct Answer<'a>(&'a Value);

impl<'de> IntoDeserializer<'de, Error> for Answer<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Answer<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_bool(false) } else { self.0.deserialize_bool(visitor) }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_i64(0) } else { self.0.deserialize_i64(visitor) }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_str("") } else { self.0.deserialize_string(visitor) }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_seq(SeqDeserializer::new(std::iter::empty::<Answer<'de>>())),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.iter().map(Answer))),
            other => other.deserialize_seq(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_map(MapDeserializer::new(std::iter::empty::<(&str, Answer<'de>)>())),
            Value::Object(members) => visitor
                .visit_map(MapDeserializer::new(members.iter().map(|(name, value)| (name.as_str(), Answer(value))))),
            other => other.deserialize_map(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let members = match self.0 {
            Value::Null => None,
            Value::Object(members) => Some(members),
            // `serde_json` would take a list as the members in their order.
            Value::Array(_) => return Err(Error::invalid_type(Unexpected::Seq, &"an object")),
            other => return other.deserialize_map(visitor),
        };
        let mut read: Vec<(&'static str, Answer<'de>)> = Vec::with_capacity(fields.len());
        for (name, value) in members.into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            let Some(field) = fields.iter().find(|field| field.eq_ignore_ascii_case(name)) else { continue };
            match read.iter_mut().find(|(known, _)| known == field) {
                Some(earlier) => earlier.1 = Answer(value),
                None => read.push((field, Answer(value))),
            }
        }
        visitor.visit_map(MapDeserializer::new(read.into_iter()))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Map, json};

    use super::*;

    #[derive(Deserialize, Default, Debug, PartialEq)]
    #[serde(default)]
    struct Person {
        id: i64,
        name: String,
        verified: bool,
        tags: Vec<String>,
        friends: Vec<Person>,
        #[serde(rename = "https://example.com/team")]
        team: String,
        raw: Map<String, Value>,
    }

    #[test]
    fn names_are_read_in_any_letters_and_null_as_absent() {
        let answer = json!({"ID": 7, "Name": null, "verified": null, "tags": [null, "a"], "friends": [null, {"id": 8}],
                            "https://Example.com/team": "T", "raw": {"kept": null}, "unknown": {}});
        let person: Person = read(&answer).expect("read");
        assert_eq!((person.id, person.name.as_str(), person.verified, person.team.as_str()), (7, "", false, "T"));
        assert_eq!(person.tags, ["", "a"]);
        assert_eq!(person.friends.iter().map(|it| it.id).collect::<Vec<_>>(), [0, 8]);
        assert_eq!(Value::Object(person.raw), json!({"kept": null}));
        assert_eq!(read::<Person>(&json!(null)), Ok(Person::default()));
        assert_eq!(read::<Person>(&json!({"name": "a", "NAME": "b"})).map(|it| it.name), Ok("b".to_owned()));
    }

    #[test]
    fn what_nobody_documents_keeps_its_shape_but_not_more_digits_than_a_float_has() {
        let kept = json!({"a": [1, 1.0, 1.5, null, true, "7"], "b": {"c": 9_007_199_254_740_993_u64}});
        assert_eq!(as_floats(kept), json!({"a": [1, 1, 1.5, null, true, "7"], "b": {"c": 9_007_199_254_740_992_u64}}));
    }

    #[test]
    fn a_member_of_another_type_is_an_error() {
        let wrong = [
            json!({"id": "7"}),
            json!({"id": 7.5}),
            json!({"id": 1e30}),
            json!({"name": 7}),
            json!({"verified": "true"}),
            json!({"tags": {}}),
            json!({"friends": [[1]]}),
            json!({"raw": []}),
            json!([7]),
            json!("person"),
        ];
        for answer in wrong {
            assert!(read::<Person>(&answer).is_err(), "{answer}");
        }
        let Err(BadAnswer(told)) = read::<Person>(&json!({"id": "ann@x.example"})) else { panic!("it is an error") };
        assert_eq!(told, "a member is not of the type that is documented: i64");
    }
}
