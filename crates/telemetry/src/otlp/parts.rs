//! The parts that requests of spans and of metrics share.

use super::message::{FieldValue, OtlpMessage};
use crate::tracer::AttributeValue;

/// `Resource`: what describes this process.
pub(super) fn build_resource(attributes: &[(String, String)]) -> OtlpMessage {
    let attributes = attributes.iter().map(|(key, value)| build_attribute(key, FieldValue::Text(value.clone())));
    OtlpMessage::default().with(1, "attributes", FieldValue::Messages(attributes.collect()))
}

/// `InstrumentationScope`.
pub(super) fn build_scope() -> OtlpMessage {
    OtlpMessage::default().with(1, "name", FieldValue::Text("basalt".to_owned())).with(
        2,
        "version",
        FieldValue::Text(env!("CARGO_PKG_VERSION").to_owned()),
    )
}

/// `KeyValue`.
pub(super) fn build_attribute(key: &str, value: FieldValue) -> OtlpMessage {
    let (number, name) = match value {
        FieldValue::Bool(_) => (2, "boolValue"),
        FieldValue::Integer(_) => (3, "intValue"),
        _ => (1, "stringValue"),
    };
    let value = OtlpMessage::default().with(number, name, value);
    OtlpMessage::default().with(1, "key", FieldValue::Text(key.to_owned())).with(2, "value", FieldValue::Message(value))
}

pub(super) fn to_field_value(value: &AttributeValue) -> FieldValue {
    match value {
        AttributeValue::Text(text) => FieldValue::Text(text.clone().into_owned()),
        AttributeValue::Integer(number) => FieldValue::Integer(*number),
        AttributeValue::Bool(value) => FieldValue::Bool(*value),
    }
}
