//! A `serde` deserializer with Go's conversion rules, and types with special rules.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserialize, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::decode_error::GoJsonError;
use super::json_type::JsonType;
use super::node::{Node, go_number, matches_field, require_storable};

/// All values of one member, in order; at least one.
#[derive(Debug, Clone)]
pub(super) struct MemberValues<'a>(pub Vec<&'a Node>);

impl<'a> MemberValues<'a> {
    /// Wraps one value.
    pub(super) fn from_node(node: &'a Node) -> Self {
        Self(vec![node])
    }

    /// Returns the values after the last `null`, which make up a pointer, a list or a map.
    fn after_last_null(self) -> Self {
        let start = self.0.iter().rposition(|node| **node == Node::Null).map_or(0, |at| at + 1);
        Self(self.0[start..].to_vec())
    }

    /// Reads the last value of a plain member, ignoring `null`; every value must have the type.
    fn read_plain<T>(&self, wants: &str, read: impl Fn(&Node) -> Option<T>) -> Result<Option<T>, GoJsonError> {
        let mut last = None;
        for node in self.0.iter().filter(|node| ***node != Node::Null) {
            last = Some(read(node).ok_or_else(|| type_error(wants, node))?);
        }
        Ok(last)
    }

    /// Reads a text, which may contain U+0000.
    fn read_text(&self) -> Result<String, GoJsonError> {
        let read = |node: &Node| if let Node::Text(text) = node { Some(text.clone()) } else { None };
        Ok(self.read_plain("a string", read)?.unwrap_or_default())
    }

    /// Returns the members of all objects, ignoring `null`.
    fn merged_members(&self) -> Result<Vec<&'a (String, Node)>, GoJsonError> {
        let mut all = Vec::new();
        for node in &self.0 {
            match node {
                Node::Object(members) => all.extend(members),
                Node::Null => {}
                other => return Err(type_error("an object", other)),
            }
        }
        Ok(all)
    }
}

fn type_error(wants: &str, got: &Node) -> GoJsonError {
    GoJsonError(format!("{wants} is wanted, it is {}", JsonType::from(got).with_article()))
}

fn integer(node: &Node) -> Option<i64> {
    if let Node::Number(digits) = node { digits.parse().ok() } else { None }
}

fn float(node: &Node) -> Option<f64> {
    let Node::Number(digits) = node else { return None };
    digits.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Messages contain the expected type but not the value, which is user data and must not be logged.
impl de::Error for GoJsonError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, wants: &dyn Expected) -> Self {
        Self(format!("{wants} is wanted"))
    }

    fn invalid_value(_: Unexpected<'_>, wants: &dyn Expected) -> Self {
        Self(format!("{wants} is wanted"))
    }
}

impl<'de> IntoDeserializer<'de, GoJsonError> for MemberValues<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for MemberValues<'de> {
    type Error = GoJsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoJsonError> {
        match self.0.last() {
            None | Some(Node::Null) => visitor.visit_unit(),
            Some(Node::Bool(is)) => visitor.visit_bool(*is),
            Some(Node::Text(text)) => visitor.visit_string(require_storable(text.clone()).map_err(GoJsonError)?),
            Some(Node::Number(digits)) => {
                let number = digits.parse().ok().filter(|number: &f64| number.is_finite()).and_then(go_number);
                let number = number.ok_or_else(|| GoJsonError("a number is too large for 64 bits".to_owned()))?;
                match number.as_i64() {
                    Some(whole) => visitor.visit_i64(whole),
                    None => visitor.visit_f64(number.as_f64().unwrap_or_default()),
                }
            }
            Some(Node::List(items)) => {
                visitor.visit_seq(SeqDeserializer::new(items.iter().map(MemberValues::from_node)))
            }
            Some(Node::Object(members)) => visit_members(members.iter(), visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoJsonError> {
        let read = |node: &Node| if let Node::Bool(is) = node { Some(*is) } else { None };
        visitor.visit_bool(self.read_plain("a boolean", read)?.unwrap_or_default())
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoJsonError> {
        visitor.visit_i64(self.read_plain("a whole number", integer)?.unwrap_or_default())
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoJsonError> {
        visitor.visit_f64(self.read_plain("a number", float)?.unwrap_or_default())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoJsonError> {
        visitor.visit_string(require_storable(self.read_text()?).map_err(GoJsonError)?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoJsonError> {
        let rest = self.after_last_null();
        if rest.0.is_empty() { visitor.visit_none() } else { visitor.visit_some(rest) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoJsonError> {
        let rest = self.after_last_null();
        let items =
            rest.read_plain("an array", |node| if let Node::List(items) = node { Some(items.len()) } else { None })?;
        match (items, rest.0.last()) {
            (Some(_), Some(Node::List(items))) => {
                visitor.visit_seq(SeqDeserializer::new(items.iter().map(MemberValues::from_node)))
            }
            _ => visitor.visit_seq(SeqDeserializer::new(std::iter::empty::<MemberValues<'de>>())),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoJsonError> {
        visit_members(self.after_last_null().merged_members()?.into_iter(), visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, GoJsonError> {
        let mut read: Vec<(&'static str, MemberValues<'de>)> = Vec::with_capacity(fields.len());
        for (name, value) in self.merged_members()? {
            let exact = fields.iter().find(|field| *field == name);
            let Some(field) = exact.or_else(|| fields.iter().find(|field| matches_field(name, field))) else {
                continue;
            };
            match read.iter_mut().find(|(known, _)| known == field) {
                Some((_, earlier)) => earlier.0.push(value),
                None => read.push((field, MemberValues::from_node(value))),
            }
        }
        visitor.visit_map(MapDeserializer::new(read.into_iter()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, GoJsonError> {
        match name {
            DIGITS => {}
            UNSTORED_TEXT => return visitor.visit_string(self.read_text()?),
            _ => return visitor.visit_newtype_struct(self),
        }
        let mut last = None;
        for node in &self.0 {
            last = match node {
                Node::Number(digits) => Some(digits),
                Node::Text(digits) if is_number(digits) => Some(digits),
                Node::Null => last,
                other => return Err(type_error(DIGITS_WANTED, other)),
            };
        }
        visitor.visit_str(last.ok_or_else(|| type_error(DIGITS_WANTED, &Node::Null))?)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 char str bytes byte_buf unit unit_struct tuple tuple_struct enum
        identifier ignored_any
    }
}

fn visit_members<'de, V: Visitor<'de>>(
    members: impl Iterator<Item = &'de (String, Node)>,
    visitor: V,
) -> Result<V::Value, GoJsonError> {
    let named: Result<Vec<(String, MemberValues<'de>)>, GoJsonError> = members
        .map(|(name, value)| Ok((require_storable(name.clone()).map_err(GoJsonError)?, MemberValues::from_node(value))))
        .collect();
    visitor.visit_map(MapDeserializer::new(named?.into_iter()))
}

/// A text or a list of texts, like `aud`; `null` is one empty text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OneOrMany(pub Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or an array of strings")
            }

            fn visit_unit<E: de::Error>(self) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![String::new()]))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMany, A::Error> {
                let mut all = Vec::new();
                while let Some(text) = items.next_element::<String>()? {
                    all.push(text);
                }
                Ok(OneOrMany(all))
            }
        }

        deserializer.deserialize_any(Texts)
    }
}

/// A text that is compared or displayed but never stored, so that it may contain U+0000.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnstoredText(pub String);

/// Newtype name that requests an unvalidated text.
const UNSTORED_TEXT: &str = "$json::Told";

impl<'de> Deserialize<'de> for UnstoredText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = UnstoredText;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<UnstoredText, E> {
                Ok(UnstoredText(text.to_owned()))
            }
        }

        deserializer.deserialize_newtype_struct(UNSTORED_TEXT, Text)
    }
}

/// The digits of a number, which may be in a text: Go's `json.Number`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Digits(pub String);

/// Newtype name that requests the digits, which a `Value` would round.
const DIGITS: &str = "$json::Digits";
const DIGITS_WANTED: &str = "a number, or a string that holds one,";

impl<'de> Deserialize<'de> for Digits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Digits;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(DIGITS_WANTED)
            }

            fn visit_str<E: de::Error>(self, digits: &str) -> Result<Digits, E> {
                Ok(Digits(digits.to_owned()))
            }
        }

        deserializer.deserialize_newtype_struct(DIGITS, Text)
    }
}

/// An integer, or a text with one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WholeNumber(pub i64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Digits(digits) = Digits::deserialize(deserializer)?;
        digits.parse().map(Self).map_err(|_| de::Error::custom("a whole number is wanted"))
    }
}

/// A `NumericDate` (RFC 7519 §2) in whole seconds, a number or a text.
/// Fractions are truncated, overflow saturates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NumericDate(pub i64);

impl NumericDate {
    /// Parses a JSON number.
    #[expect(clippy::cast_possible_truncation, reason = "values out of range saturate")]
    pub fn from_digits(digits: &str) -> Option<Self> {
        let cut = |number: f64| number.is_finite().then_some(number as i64);
        let seconds = || digits.parse().ok().or_else(|| digits.parse().ok().and_then(cut));
        if is_number(digits) { seconds().map(Self) } else { None }
    }
}

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Digits(digits) = Digits::deserialize(deserializer)?;
        Self::from_digits(&digits).ok_or_else(|| de::Error::custom("a number of seconds is wanted"))
    }
}

fn is_number(text: &str) -> bool {
    matches!(super::parser::parse(text.as_bytes(), 1), Ok(Node::Number(digits)) if digits == text)
}
