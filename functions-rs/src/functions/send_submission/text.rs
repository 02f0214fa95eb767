//! The text of a submission: read from the body and held to the product's rule. Values in, values out.

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;

/// The most code points a text may have after trimming.
pub const LONGEST: usize = 1000;

/// A text that keeps the rule: trimmed, 1 to [`LONGEST`] code points, without NUL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    /// Reads `{"description": "…"}`, whatever the content type says.
    pub fn read(body: &[u8]) -> Result<Self, Invalid> {
        let body = std::str::from_utf8(body).map_err(|_| Invalid::NotUtf8)?;
        let body: Body = serde_json::from_str(body).map_err(|error| match error.classify() {
            Category::Data => Invalid::NotAnObject,
            Category::Syntax | Category::Eof | Category::Io => Invalid::NotJson,
        })?;
        match body {
            Body { others: true, .. } => Err(Invalid::OtherFields),
            Body { description: Described::Twice, .. } => Err(Invalid::Twice),
            Body { description: Described::Never, .. } => Err(Invalid::Empty),
            Body { description: Described::Once(Value::String(text)), .. } => Self::new(&text),
            Body { description: Described::Once(_), .. } => Err(Invalid::NotText),
        }
    }

    /// Trims Unicode white space and holds the rest to the rule.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let text = text.trim_matches(char::is_whitespace);
        match text.chars().take(LONGEST + 1).count() {
            0 => Err(Invalid::Empty),
            length if length > LONGEST => Err(Invalid::TooLong),
            _ if text.contains('\0') => Err(Invalid::Nul),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a body holds no text that can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// Not JSON, or cut off.
    NotJson,
    /// JSON, but no object.
    NotAnObject,
    /// A field besides `description`.
    OtherFields,
    /// `description` more than once.
    Twice,
    /// `description` is not a string.
    NotText,
    /// A NUL character, which the database cannot keep.
    Nul,
    /// Nothing left after trimming, or no `description`.
    Empty,
    /// More than [`LONGEST`] code points.
    TooLong,
}

impl Invalid {
    /// The stable code: the auth API's words for a body that cannot be read and for a value that is refused.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotUtf8 | Self::NotJson => "bad_json",
            _ => "validation_failed",
        }
    }

    /// The message for the client; the last two are the product's own words.
    pub fn message(self) -> &'static str {
        match self {
            Self::NotUtf8 => "The body is not UTF-8",
            Self::NotJson => r#"The body is not JSON; send {"description": "…"}"#,
            Self::NotAnObject => r#"The body must be a JSON object; send {"description": "…"}"#,
            Self::OtherFields => "The body may hold description alone",
            Self::Twice => "description may be given once",
            Self::NotText => "description must be a string",
            Self::Nul => "Details must not contain a NUL character",
            Self::Empty => "Details are required",
            Self::TooLong => "Details must be less than 1000 characters",
        }
    }
}

/// The body before it is judged. Written by hand because a derived structure would also take an array.
struct Body {
    description: Described,
    others: bool,
}

enum Described {
    Never,
    Once(Value),
    Twice,
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Body;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Body, A::Error> {
                let mut body = Body { description: Described::Never, others: false };
                while let Some(key) = map.next_key::<String>()? {
                    if key != "description" {
                        map.next_value::<IgnoredAny>()?;
                        body.others = true;
                        continue;
                    }
                    let value = map.next_value()?;
                    body.description = match body.description {
                        Described::Never => Described::Once(value),
                        Described::Once(_) | Described::Twice => Described::Twice,
                    };
                }
                Ok(body)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bodies_that_hold_no_text_are_told_apart() {
        let cases: [(&[u8], Invalid); 24] = [
            (b"", Invalid::NotJson),
            (b"{", Invalid::NotJson),
            (b"{\"description\":\"a\"", Invalid::NotJson),
            (b"{\"description\":\"a\"} x", Invalid::NotJson),
            (b"{\"description\":\"a\",}", Invalid::NotJson),
            (b"{'description':'a'}", Invalid::NotJson),
            (b"description=a", Invalid::NotJson),
            (b"{\"description\":\"\\ud800\"}", Invalid::NotJson),
            (b"{\"description\":\"a\nb\"}", Invalid::NotJson),
            (b"{\"description\":\"\xff\"}", Invalid::NotUtf8),
            (b"\xff\xfe{\0}\0", Invalid::NotUtf8),
            (b"null", Invalid::NotAnObject),
            (b"\"text\"", Invalid::NotAnObject),
            (b"[\"text\"]", Invalid::NotAnObject),
            (b"[]", Invalid::NotAnObject),
            (b"{}", Invalid::Empty),
            (b"{\"Description\":\"a\"}", Invalid::OtherFields),
            (b"{\"description\":\"a\",\"email\":\"b\"}", Invalid::OtherFields),
            (b"{\"description\":\"a\",\"description\":\"b\"}", Invalid::Twice),
            (b"{\"description\":null}", Invalid::NotText),
            (b"{\"description\":7}", Invalid::NotText),
            (b"{\"description\":[\"a\"]}", Invalid::NotText),
            (b"{\"description\":\"a\\u0000b\"}", Invalid::Nul),
            (b"{\"description\":\" \\u00a0\\u2003\\n\"}", Invalid::Empty),
        ];
        for (body, expected) in cases {
            assert_eq!(Text::read(body), Err(expected), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn deep_nesting_is_refused_without_a_crash() {
        let deep = format!("{{\"description\":{}", "[".repeat(100_000));
        assert_eq!(Text::read(deep.as_bytes()), Err(Invalid::NotJson));
    }

    #[test]
    fn the_length_counts_code_points_after_trimming() {
        let long = |count| format!(" \u{2003}{}\t", "𝄞".repeat(count));
        assert_eq!(Text::new(&long(1000)).map(|it| it.as_str().chars().count()), Ok(1000));
        assert_eq!(Text::new(&long(1001)), Err(Invalid::TooLong));
        assert_eq!(Text::new("\u{feff}").as_ref().map(Text::as_str), Ok("\u{feff}"));
    }

    proptest! {
        #[test]
        fn g4_any_bytes_are_read_without_a_panic(body: Vec<u8>) {
            let _ = Text::read(&body);
        }

        #[test]
        fn every_text_that_keeps_the_rule_is_taken_as_it_is(text in "[^\\s\0]([^\0]{0,998}[^\\s\0])?") {
            let body = serde_json::to_vec(&serde_json::json!({ "description": text })).expect("JSON");
            let read = Text::read(&body);
            prop_assert_eq!(read.as_ref().map(Text::as_str), Ok(text.as_str()));
        }
    }
}
