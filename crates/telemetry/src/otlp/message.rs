//! A message with numbered and named fields, written as protobuf or as JSON of OTLP.
//!
//! [JSON encoding](https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids are hexadecimal, 64-bit
//! integers are texts, enumerations are numbers.

use std::fmt::Write as _;

/// A protobuf message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OtlpMessage(Vec<OtlpField>);

/// A field of a message.
#[derive(Debug, Clone, PartialEq)]
struct OtlpField {
    number: u32,
    name: &'static str,
    value: FieldValue,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldValue {
    Text(String),
    /// `bytes`, which OTLP uses for ids.
    Id(Vec<u8>),
    Bool(bool),
    /// `int64`.
    Integer(i64),
    Enumeration(u32),
    Fixed64(u64),
    Double(f64),
    Message(OtlpMessage),
    /// Repeated messages.
    Messages(Vec<OtlpMessage>),
    /// Repeated `fixed64`.
    Fixed64List(Vec<u64>),
    /// Repeated `double`.
    DoubleList(Vec<f64>),
}

/// Wire types of protobuf.
const VARINT: u64 = 0;
const SIXTY_FOUR_BITS: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;

impl OtlpMessage {
    /// Adds a field.
    #[must_use]
    pub(super) fn with(mut self, number: u32, name: &'static str, value: FieldValue) -> Self {
        self.0.push(OtlpField { number, name, value });
        self
    }

    /// Encodes the message as protobuf.
    pub fn to_protobuf(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for OtlpField { number, value, .. } in &self.0 {
            write_field(&mut bytes, u64::from(*number), value);
        }
        bytes
    }

    /// Encodes the message as JSON.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_json(&mut text);
        text
    }

    fn write_json(&self, text: &mut String) {
        write_list(text, ['{', '}'], &self.0, |text, OtlpField { name, value, .. }| {
            // Writing into memory does not fail.
            let _ = write!(text, "\"{name}\":");
            write_json_value(text, value);
        });
    }
}

fn write_field(bytes: &mut Vec<u8>, number: u64, value: &FieldValue) {
    match value {
        FieldValue::Text(text) => write_bytes(bytes, number, text.as_bytes()),
        FieldValue::Id(id) => write_bytes(bytes, number, id),
        FieldValue::Bool(value) => write_varint_field(bytes, number, u64::from(*value)),
        FieldValue::Integer(value) => write_varint_field(bytes, number, value.cast_unsigned()),
        FieldValue::Enumeration(value) => write_varint_field(bytes, number, u64::from(*value)),
        FieldValue::Fixed64(value) => write_fixed(bytes, number, value.to_le_bytes()),
        FieldValue::Double(value) => write_fixed(bytes, number, value.to_le_bytes()),
        FieldValue::Message(message) => write_bytes(bytes, number, &message.to_protobuf()),
        FieldValue::Messages(messages) => {
            for message in messages {
                write_bytes(bytes, number, &message.to_protobuf());
            }
        }
        FieldValue::Fixed64List(values) => {
            write_bytes(bytes, number, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
        }
        FieldValue::DoubleList(values) => {
            write_bytes(bytes, number, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
        }
    }
}

fn write_varint_field(bytes: &mut Vec<u8>, number: u64, value: u64) {
    write_varint(bytes, number << 3 | VARINT);
    write_varint(bytes, value);
}

fn write_fixed(bytes: &mut Vec<u8>, number: u64, value: [u8; 8]) {
    write_varint(bytes, number << 3 | SIXTY_FOUR_BITS);
    bytes.extend(value);
}

fn write_bytes(bytes: &mut Vec<u8>, number: u64, value: &[u8]) {
    write_varint(bytes, number << 3 | LENGTH_DELIMITED);
    write_varint(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

#[expect(clippy::cast_possible_truncation, reason = "the mask leaves seven bits")]
fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn write_json_value(text: &mut String, value: &FieldValue) {
    let _ = match value {
        FieldValue::Text(value) => {
            write_json_text(text, value);
            Ok(())
        }
        FieldValue::Id(id) => write!(text, "\"{}\"", hex::encode(id)),
        FieldValue::Bool(value) => write!(text, "{value}"),
        FieldValue::Integer(value) => write!(text, "\"{value}\""),
        FieldValue::Enumeration(value) => write!(text, "{value}"),
        FieldValue::Fixed64(value) => write!(text, "\"{value}\""),
        FieldValue::Double(value) if value.is_finite() => write!(text, "{value}"),
        FieldValue::Double(_) => write!(text, "0"),
        FieldValue::Message(message) => {
            message.write_json(text);
            Ok(())
        }
        FieldValue::Messages(messages) => {
            write_list(text, ['[', ']'], messages, |text, message| message.write_json(text));
            Ok(())
        }
        FieldValue::Fixed64List(values) => {
            write_list(text, ['[', ']'], values, |text, value| {
                let _ = write!(text, "\"{value}\"");
            });
            Ok(())
        }
        FieldValue::DoubleList(values) => {
            write_list(text, ['[', ']'], values, |text, value| text.push_str(&value.to_string()));
            Ok(())
        }
    };
}

fn write_list<T>(text: &mut String, brackets: [char; 2], items: &[T], write_item: impl Fn(&mut String, &T)) {
    text.push(brackets[0]);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_item(text, item);
    }
    text.push(brackets[1]);
}

fn write_json_text(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}
