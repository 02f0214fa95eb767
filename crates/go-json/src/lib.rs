//! Writes JSON with the escapes and the numbers of Go's `encoding/json`.
//!
//! A crate of its own because it knows nothing of what it writes.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

/// Serializes a value like Go.
///
/// `<`, `>`, `&` and the line separators of Unicode are escaped, so that the text can be part of a page; numbers from
/// 1e-6 to 1e21 have no exponent.
///
/// # Errors
/// The value cannot be JSON, for example a map whose keys are no texts.
pub fn to_vec(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(512);
    value.serialize(&mut Serializer::with_formatter(&mut text, GoFormatter))?;
    Ok(text)
}

/// Serializes a value like [`to_vec`].
///
/// # Errors
/// As [`to_vec`].
pub fn to_string(value: &impl Serialize) -> serde_json::Result<String> {
    // The serializer writes UTF-8 only.
    to_vec(value).map(|text| String::from_utf8(text).unwrap_or_default())
}

/// Serializes a JSON value like [`to_vec`].
///
/// Unlike that of [`to_vec`], its code is compiled once, in this crate.
///
/// # Errors
/// As [`to_vec`].
pub fn value_to_vec(value: &Value) -> serde_json::Result<Vec<u8>> {
    to_vec(value)
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> Result<()> {
        let mut rest = fragment;
        if !may_be_escaped(rest.as_bytes()) {
            return writer.write_all(rest.as_bytes());
        }
        while let Some((position, escape, length)) = find_escape(rest) {
            writer.write_all(&rest.as_bytes()[..position])?;
            writer.write_all(escape)?;
            rest = &rest[position + length..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> Result<()> {
        let size = value.abs();
        if size != 0.0 && !(1e-6..1e21).contains(&size) {
            let text = format!("{value:e}");
            let sign = if text.contains("e-") { "" } else { "+" };
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            return write!(writer, "{digits}e{sign}{exponent}");
        }
        write!(writer, "{value}")
    }
}

/// Whether a byte starts a character that Go may escape and JSON need not.
///
/// A table needs one look for each byte of a response.
static MAY_BE_ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    table[b'<' as usize] = true;
    table[b'>' as usize] = true;
    table[b'&' as usize] = true;
    table[0xe2] = true;
    table
};

/// Whether a text has a byte of [`MAY_BE_ESCAPED`].
///
/// Eight are looked up at once, because most texts have none.
fn may_be_escaped(text: &[u8]) -> bool {
    let is_among = |bytes: &[u8]| bytes.iter().fold(false, |found, byte| found | MAY_BE_ESCAPED[usize::from(*byte)]);
    let mut blocks = text.chunks_exact(8);
    blocks.by_ref().any(is_among) || is_among(blocks.remainder())
}

/// Returns position, escape and length of the first character that Go escapes and JSON need not.
fn find_escape(text: &str) -> Option<(usize, &'static [u8], usize)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        let position = from + bytes[from..].iter().position(|byte| MAY_BE_ESCAPED[usize::from(*byte)])?;
        let rest = &bytes[position..];
        match rest[0] {
            b'<' => return Some((position, b"\\u003c", 1)),
            b'>' => return Some((position, b"\\u003e", 1)),
            b'&' => return Some((position, b"\\u0026", 1)),
            _ if rest.starts_with("\u{2028}".as_bytes()) => return Some((position, b"\\u2028", 3)),
            _ if rest.starts_with("\u{2029}".as_bytes()) => return Some((position, b"\\u2029", 3)),
            _ => from = position + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_and_numbers_are_written_as_by_go() {
        // What `json.Marshal` of Go 1.26 returns.
        for (value, expected) in [
            (json!("<a href='x'>b & c</a>"), r#""\u003ca href='x'\u003eb \u0026 c\u003c/a\u003e""#),
            (json!("a\u{2028}b\u{2029}â"), r#""a\u2028b\u2029â""#),
            (json!("€<"), r#""€\u003c""#),
            (json!({ "<": "\"\\\n\t\u{1}" }), r#"{"\u003c":"\"\\\n\t\u0001"}"#),
            (json!([1e20, 1e21, -1e21, 1.5e300]), "[100000000000000000000,1e+21,-1e+21,1.5e+300]"),
            (json!([0.1, 1e-6, 1e-7, 1.25e-9, 0.0, -0.0]), "[0.1,0.000001,1e-7,1.25e-9,0,-0]"),
            (json!([1.0, 123_456_789.5, 7, -3, u64::MAX]), "[1,123456789.5,7,-3,18446744073709551615]"),
        ] {
            assert_eq!(to_string(&value).expect("a value"), expected);
            assert_eq!(value_to_vec(&value).expect("a value"), expected.as_bytes());
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<f64>()
                .prop_filter("JSON has no others", |number| number.is_finite())
                .prop_map(|number| json!(number)),
            any::<i64>().prop_map(|number| json!(number)),
            "[<>&\u{2020}-\u{2030}a\"\\\\\n]{0,12}".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[<>&a]{0,3}", inner, 0..4).prop_map(|members| json!(members)),
            ]
        })
    }

    /// Numbers are compared as floats: 1 and 1.0 are the same.
    fn normalized(value: Value) -> Value {
        match value {
            Value::Number(number) => json!(number.as_f64()),
            Value::Array(items) => items.into_iter().map(normalized).collect(),
            Value::Object(members) => members.into_iter().map(|(name, item)| (name, normalized(item))).collect(),
            other => other,
        }
    }

    proptest! {
        #[test]
        fn value_is_read_back(value in value()) {
            let text = to_string(&value).expect("a value");
            prop_assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{}", text);
            let read: Value = serde_json::from_str(&text).expect("JSON");
            prop_assert_eq!(normalized(read), normalized(value));
        }
    }
}
