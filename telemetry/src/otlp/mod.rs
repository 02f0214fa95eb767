//! Requests of the OpenTelemetry protocol: spans and metrics, as protobuf or JSON.
//!
//! The messages are those of [opentelemetry-proto](https://github.com/open-telemetry/opentelemetry-proto) 1.x.

mod message;
mod metrics;
mod spans;

use self::message::FieldValue;
pub use self::message::OtlpMessage;
pub use self::metrics::{MetricPeriod, build_metrics_request};
pub use self::spans::build_traces_request;
use crate::tracer::AttributeValue;

/// The encoding of a request (`OTEL_EXPORTER_OTLP_PROTOCOL`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// `http/protobuf`.
    #[default]
    HttpProtobuf,
    /// `http/json`.
    HttpJson,
}

impl OtlpProtocol {
    /// Returns the `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::HttpProtobuf => "application/x-protobuf",
            Self::HttpJson => "application/json",
        }
    }

    /// Encodes a request.
    pub fn encode(self, message: &OtlpMessage) -> Vec<u8> {
        match self {
            Self::HttpProtobuf => message.to_protobuf(),
            Self::HttpJson => message.to_json().into_bytes(),
        }
    }
}

/// `Resource`: what describes this process.
fn build_resource(attributes: &[(String, String)]) -> OtlpMessage {
    let attributes = attributes.iter().map(|(key, value)| build_attribute(key, FieldValue::Text(value.clone())));
    OtlpMessage::default().with(1, "attributes", FieldValue::Messages(attributes.collect()))
}

/// `InstrumentationScope`.
fn build_scope() -> OtlpMessage {
    OtlpMessage::default().with(1, "name", FieldValue::Text("basalt".to_owned())).with(
        2,
        "version",
        FieldValue::Text(env!("CARGO_PKG_VERSION").to_owned()),
    )
}

/// `KeyValue`.
fn build_attribute(key: &str, value: FieldValue) -> OtlpMessage {
    let (number, name) = match value {
        FieldValue::Bool(_) => (2, "boolValue"),
        FieldValue::Integer(_) => (3, "intValue"),
        _ => (1, "stringValue"),
    };
    let value = OtlpMessage::default().with(number, name, value);
    OtlpMessage::default().with(1, "key", FieldValue::Text(key.to_owned())).with(2, "value", FieldValue::Message(value))
}

fn to_field_value(value: &AttributeValue) -> FieldValue {
    match value {
        AttributeValue::Text(text) => FieldValue::Text(text.clone().into_owned()),
        AttributeValue::Integer(number) => FieldValue::Integer(*number),
        AttributeValue::Bool(value) => FieldValue::Bool(*value),
    }
}
