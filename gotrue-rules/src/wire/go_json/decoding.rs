//! Go's rules for what a member becomes of each type, as a deserializer for `serde`, and types with rules of their own.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserialize, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::node::{Node, as_go_writes, storable};
use super::{Error, same_name};

/// Everything that was given for one member, in order: at least one value.
#[derive(Debug, Clone)]
pub(super) struct Input<'a>(pub Vec<&'a Node>);

impl<'a> Input<'a> {
    /// One value.
    pub(super) fn of(node: &'a Node) -> Self {
        Self(vec![node])
    }

    /// What a pointer, a list or a map is made of: the values after the last `null`.
    fn since_null(self) -> Self {
        let start = self.0.iter().rposition(|node| **node == Node::Null).map_or(0, |at| at + 1);
        Self(self.0[start..].to_vec())
    }

    /// The last value of a plain member, which `null` leaves as it was; each one must fit.
    fn plain<T>(&self, wants: &str, read: impl Fn(&Node) -> Option<T>) -> Result<Option<T>, Error> {
        let mut last = None;
        for node in self.0.iter().filter(|node| ***node != Node::Null) {
            last = Some(read(node).ok_or_else(|| mistyped(wants, node))?);
        }
        Ok(last)
    }

    /// A text, which may hold U+0000.
    fn text(&self) -> Result<String, Error> {
        let read = |node: &Node| if let Node::Text(text) = node { Some(text.clone()) } else { None };
        Ok(self.plain("a string", read)?.unwrap_or_default())
    }

    /// The members of all objects given, `null` aside.
    fn members(&self) -> Result<Vec<&'a (String, Node)>, Error> {
        let mut all = Vec::new();
        for node in &self.0 {
            match node {
                Node::Object(members) => all.extend(members),
                Node::Null => {}
                other => return Err(mistyped("an object", other)),
            }
        }
        Ok(all)
    }
}

fn mistyped(wants: &str, got: &Node) -> Error {
    Error(format!("{wants} is wanted, it is {}", got.kind()))
}

fn integer(node: &Node) -> Option<i64> {
    if let Node::Number(digits) = node { digits.parse().ok() } else { None }
}

fn float(node: &Node) -> Option<f64> {
    let Node::Number(digits) = node else { return None };
    digits.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Messages say what is wanted, not what was there: it is somebody's, and not for a log.
impl de::Error for Error {
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

impl<'de> IntoDeserializer<'de, Error> for Input<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Input<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.last() {
            None | Some(Node::Null) => visitor.visit_unit(),
            Some(Node::Bool(is)) => visitor.visit_bool(*is),
            Some(Node::Text(text)) => visitor.visit_string(storable(text.clone()).map_err(Error)?),
            Some(Node::Number(digits)) => {
                let number = digits.parse().ok().filter(|number: &f64| number.is_finite()).and_then(as_go_writes);
                let number = number.ok_or_else(|| Error("a number is too large for 64 bits".to_owned()))?;
                match number.as_i64() {
                    Some(whole) => visitor.visit_i64(whole),
                    None => visitor.visit_f64(number.as_f64().unwrap_or_default()),
                }
            }
            Some(Node::List(items)) => visitor.visit_seq(SeqDeserializer::new(items.iter().map(Input::of))),
            Some(Node::Object(members)) => visit_members(members.iter(), visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let read = |node: &Node| if let Node::Bool(is) = node { Some(*is) } else { None };
        visitor.visit_bool(self.plain("a boolean", read)?.unwrap_or_default())
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i64(self.plain("a whole number", integer)?.unwrap_or_default())
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(self.plain("a number", float)?.unwrap_or_default())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(storable(self.text()?).map_err(Error)?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let rest = self.since_null();
        if rest.0.is_empty() { visitor.visit_none() } else { visitor.visit_some(rest) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let rest = self.since_null();
        let items =
            rest.plain("an array", |node| if let Node::List(items) = node { Some(items.len()) } else { None })?;
        match (items, rest.0.last()) {
            (Some(_), Some(Node::List(items))) => visitor.visit_seq(SeqDeserializer::new(items.iter().map(Input::of))),
            _ => visitor.visit_seq(SeqDeserializer::new(std::iter::empty::<Input<'de>>())),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visit_members(self.since_null().members()?.into_iter(), visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut read: Vec<(&'static str, Input<'de>)> = Vec::with_capacity(fields.len());
        for (name, value) in self.members()? {
            let exact = fields.iter().find(|field| *field == name);
            let Some(field) = exact.or_else(|| fields.iter().find(|field| same_name(name, field))) else { continue };
            match read.iter_mut().find(|(known, _)| known == field) {
                Some((_, earlier)) => earlier.0.push(value),
                None => read.push((field, Input::of(value))),
            }
        }
        visitor.visit_map(MapDeserializer::new(read.into_iter()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        match name {
            DIGITS => {}
            TOLD => return visitor.visit_string(self.text()?),
            _ => return visitor.visit_newtype_struct(self),
        }
        let mut last = None;
        for node in &self.0 {
            last = match node {
                Node::Number(digits) => Some(digits),
                Node::Text(digits) if is_number(digits) => Some(digits),
                Node::Null => last,
                other => return Err(mistyped(DIGITS_WANTED, other)),
            };
        }
        visitor.visit_str(last.ok_or_else(|| mistyped(DIGITS_WANTED, &Node::Null))?)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 char str bytes byte_buf unit unit_struct tuple tuple_struct enum
        identifier ignored_any
    }
}

fn visit_members<'de, V: Visitor<'de>>(
    members: impl Iterator<Item = &'de (String, Node)>,
    visitor: V,
) -> Result<V::Value, Error> {
    let named: Result<Vec<(String, Input<'de>)>, Error> =
        members.map(|(name, value)| Ok((storable(name.clone()).map_err(Error)?, Input::of(value)))).collect();
    visitor.visit_map(MapDeserializer::new(named?.into_iter()))
}

/// One text or a list of them, as `aud` is; `null` is one empty text.
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

/// A text that is compared or told and never stored, so that U+0000 may stand in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told(pub String);

/// By this name a [`Told`] asks for a text as it is.
const TOLD: &str = "$json::Told";

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Told;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Told, E> {
                Ok(Told(text.to_owned()))
            }
        }

        deserializer.deserialize_newtype_struct(TOLD, Text)
    }
}

/// The digits of a number, which may stand in a text: Go's `json.Number`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digits(pub String);

/// By this name a [`Digits`] asks for what a `Value` would have rounded.
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

/// A whole number, or a text that holds one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WholeNumber(pub i64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Digits(digits) = Digits::deserialize(deserializer)?;
        digits.parse().map(Self).map_err(|_| de::Error::custom("a whole number is wanted"))
    }
}

/// A numeric date of a token, in whole seconds since the epoch: a number, or a text that holds one. A fraction is cut off,
/// and what is beyond all time is the end of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seconds(pub i64);

impl Seconds {
    /// Reads a number as JSON writes one.
    #[expect(clippy::cast_possible_truncation, reason = "a number beyond all time is as good as the end of time")]
    pub fn from_digits(digits: &str) -> Option<Self> {
        let cut = |number: f64| number.is_finite().then_some(number as i64);
        let seconds = || digits.parse().ok().or_else(|| digits.parse().ok().and_then(cut));
        if is_number(digits) { seconds().map(Self) } else { None }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Digits(digits) = Digits::deserialize(deserializer)?;
        Self::from_digits(&digits).ok_or_else(|| de::Error::custom("a number of seconds is wanted"))
    }
}

fn is_number(text: &str) -> bool {
    matches!(super::parser::parse(text.as_bytes(), 1), Ok(Node::Number(digits)) if digits == text)
}
