//! The text of a submission: parsing and validation, pure.

use foundation::error::ErrorCode;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;

/// Maximum number of code points after trimming.
pub const MAX_LENGTH: usize = 1000;
/// Highest id of a template.
pub const MAX_TEMPLATE: u16 = 9999;

/// A valid text: trimmed, 1 to [`MAX_LENGTH`] code points, without NUL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionText(String);

/// A valid body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionBody {
    pub text: SubmissionText,
    /// The id of the template that it is about.
    pub template: Option<u16>,
}

impl SubmissionBody {
    /// Parses `{"description": "…"}`, with `"template": 9` or without, regardless of the content type.
    pub fn parse(body: &[u8]) -> Result<Self, InvalidSubmission> {
        let body = std::str::from_utf8(body).map_err(|_| InvalidSubmission::NotUtf8)?;
        let body: Body = serde_json::from_str(body).map_err(|error| match error.classify() {
            Category::Data => InvalidSubmission::NotAnObject,
            Category::Syntax | Category::Eof | Category::Io => InvalidSubmission::NotJson,
        })?;
        let text = match body {
            Body { has_other_fields: true, .. } => Err(InvalidSubmission::OtherFields),
            Body { description: Field::Twice, .. } | Body { template: Field::Twice, .. } => {
                Err(InvalidSubmission::Twice)
            }
            Body { description: Field::Never, .. } => Err(InvalidSubmission::Empty),
            Body { description: Field::Once(Value::String(text)), .. } => SubmissionText::new(&text),
            Body { description: Field::Once(_), .. } => Err(InvalidSubmission::NotText),
        }?;
        let template = match body.template {
            Field::Once(value) => Some(parse_template(&value).ok_or(InvalidSubmission::NotTemplate)?),
            Field::Never | Field::Twice => None,
        };
        Ok(Self { text, template })
    }
}

/// Returns the id of a template, from 1 to [`MAX_TEMPLATE`].
fn parse_template(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|id| u16::try_from(id).ok()).filter(|id| (1..=MAX_TEMPLATE).contains(id))
}

impl SubmissionText {
    /// Trims Unicode white space and validates the rest.
    pub fn new(text: &str) -> Result<Self, InvalidSubmission> {
        let text = text.trim_matches(char::is_whitespace);
        match text.chars().take(MAX_LENGTH + 1).count() {
            0 => Err(InvalidSubmission::Empty),
            length if length > MAX_LENGTH => Err(InvalidSubmission::TooLong),
            _ if text.contains('\0') => Err(InvalidSubmission::Nul),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a body contains no valid text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidSubmission {
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// Not JSON, or cut off.
    NotJson,
    /// JSON, but no object.
    NotAnObject,
    /// A field besides `description` and `template`.
    OtherFields,
    /// `description` or `template` more than once.
    Twice,
    /// `template` is not the id of a template.
    NotTemplate,
    /// `description` is not a string.
    NotText,
    /// A NUL character, which PostgreSQL cannot store.
    Nul,
    /// Empty after trimming, or no `description`.
    Empty,
    /// More than [`MAX_LENGTH`] code points.
    TooLong,
}

impl InvalidSubmission {
    /// Returns the stable error code: that of the auth API for an unreadable body or an invalid value.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotUtf8 | Self::NotJson => ErrorCode::BadJson.as_str(),
            _ => ErrorCode::ValidationFailed.as_str(),
        }
    }

    /// Returns the message for the client; the last two are defined by the product specification.
    pub fn message(self) -> &'static str {
        match self {
            Self::NotUtf8 => "The body is not UTF-8",
            Self::NotJson => r#"The body is not JSON; send {"description": "…"}"#,
            Self::NotAnObject => r#"The body must be a JSON object; send {"description": "…"}"#,
            Self::OtherFields => "The body may hold description and template alone",
            Self::Twice => "description and template may be given once",
            Self::NotTemplate => "template must be the number of a template, from 1 to 9999",
            Self::NotText => "description must be a string",
            Self::Nul => "Details must not contain a NUL character",
            Self::Empty => "Details are required",
            Self::TooLong => "Details must be less than 1000 characters",
        }
    }
}

/// The body before validation.
/// Deserialized by hand because a derived implementation would accept an array, too.
struct Body {
    description: Field,
    template: Field,
    has_other_fields: bool,
}

enum Field {
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
                let mut body = Body { description: Field::Never, template: Field::Never, has_other_fields: false };
                while let Some(key) = map.next_key::<String>()? {
                    let field = match key.as_str() {
                        "description" => &mut body.description,
                        "template" => &mut body.template,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            body.has_other_fields = true;
                            continue;
                        }
                    };
                    let value = map.next_value()?;
                    *field = match field {
                        Field::Never => Field::Once(value),
                        Field::Once(_) | Field::Twice => Field::Twice,
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

    fn parse(body: &[u8]) -> Result<SubmissionText, InvalidSubmission> {
        SubmissionBody::parse(body).map(|body| body.text)
    }

    #[test]
    fn template_is_a_number() {
        let parse = |template: &str| {
            SubmissionBody::parse(format!("{{\"template\":{template},\"description\":\"a\"}}").as_bytes())
        };
        assert_eq!(parse("9").map(|body| body.template), Ok(Some(9)));
        for template in ["0", "10000", "-1", "1.5", "\"9\"", "null", "[9]"] {
            assert_eq!(parse(template), Err(InvalidSubmission::NotTemplate), "{template}");
        }
        assert_eq!(parse("9,\"template\":9"), Err(InvalidSubmission::Twice));
    }

    #[test]
    fn invalid_bodies_yield_specific_errors() {
        let cases: [(&[u8], InvalidSubmission); 24] = [
            (b"", InvalidSubmission::NotJson),
            (b"{", InvalidSubmission::NotJson),
            (b"{\"description\":\"a\"", InvalidSubmission::NotJson),
            (b"{\"description\":\"a\"} x", InvalidSubmission::NotJson),
            (b"{\"description\":\"a\",}", InvalidSubmission::NotJson),
            (b"{'description':'a'}", InvalidSubmission::NotJson),
            (b"description=a", InvalidSubmission::NotJson),
            (b"{\"description\":\"\\ud800\"}", InvalidSubmission::NotJson),
            (b"{\"description\":\"a\nb\"}", InvalidSubmission::NotJson),
            (b"{\"description\":\"\xff\"}", InvalidSubmission::NotUtf8),
            (b"\xff\xfe{\0}\0", InvalidSubmission::NotUtf8),
            (b"null", InvalidSubmission::NotAnObject),
            (b"\"text\"", InvalidSubmission::NotAnObject),
            (b"[\"text\"]", InvalidSubmission::NotAnObject),
            (b"[]", InvalidSubmission::NotAnObject),
            (b"{}", InvalidSubmission::Empty),
            (b"{\"Description\":\"a\"}", InvalidSubmission::OtherFields),
            (b"{\"description\":\"a\",\"email\":\"b\"}", InvalidSubmission::OtherFields),
            (b"{\"description\":\"a\",\"description\":\"b\"}", InvalidSubmission::Twice),
            (b"{\"description\":null}", InvalidSubmission::NotText),
            (b"{\"description\":7}", InvalidSubmission::NotText),
            (b"{\"description\":[\"a\"]}", InvalidSubmission::NotText),
            (b"{\"description\":\"a\\u0000b\"}", InvalidSubmission::Nul),
            (b"{\"description\":\" \\u00a0\\u2003\\n\"}", InvalidSubmission::Empty),
        ];
        for (body, expected) in cases {
            assert_eq!(parse(body), Err(expected), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn deep_nesting_is_rejected() {
        let deep = format!("{{\"description\":{}", "[".repeat(100_000));
        assert_eq!(parse(deep.as_bytes()), Err(InvalidSubmission::NotJson));
    }

    #[test]
    fn length_counts_code_points_after_trimming() {
        let long = |count| format!(" \u{2003}{}\t", "𝄞".repeat(count));
        assert_eq!(SubmissionText::new(&long(1000)).map(|text| text.as_str().chars().count()), Ok(1000));
        assert_eq!(SubmissionText::new(&long(1001)), Err(InvalidSubmission::TooLong));
        assert_eq!(SubmissionText::new("\u{feff}").as_ref().map(SubmissionText::as_str), Ok("\u{feff}"));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(body: Vec<u8>) {
            let _ = parse(&body);
        }

        #[test]
        fn valid_text_is_kept_unchanged(text in "[^\\s\0]([^\0]{0,998}[^\\s\0])?") {
            let body = serde_json::to_vec(&serde_json::json!({ "description": text })).expect("JSON");
            let read = parse(&body);
            prop_assert_eq!(read.as_ref().map(SubmissionText::as_str), Ok(text.as_str()));
        }
    }
}
