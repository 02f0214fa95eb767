//! `ExportTraceServiceRequest`.

use super::message::{FieldValue, OtlpMessage};
use super::parts::{build_attribute, build_resource, build_scope, to_field_value};
use crate::tracer::FinishedSpan;

/// `STATUS_CODE_ERROR`.
const STATUS_ERROR: u32 = 2;

/// Builds the request that exports spans of a process with these resource attributes.
pub fn build_traces_request(resource: &[(String, String)], spans: &[FinishedSpan]) -> OtlpMessage {
    let spans = spans.iter().map(build_span).collect();
    let of_scope = OtlpMessage::default().with(1, "scope", FieldValue::Message(build_scope())).with(
        2,
        "spans",
        FieldValue::Messages(spans),
    );
    let of_resource = OtlpMessage::default().with(1, "resource", FieldValue::Message(build_resource(resource))).with(
        2,
        "scopeSpans",
        FieldValue::Messages(vec![of_scope]),
    );
    OtlpMessage::default().with(1, "resourceSpans", FieldValue::Messages(vec![of_resource]))
}

fn build_span(span: &FinishedSpan) -> OtlpMessage {
    let id = |id: u64| FieldValue::Id(id.to_be_bytes().to_vec());
    let mut message = OtlpMessage::default()
        .with(1, "traceId", FieldValue::Id(span.trace_id.to_be_bytes().to_vec()))
        .with(2, "spanId", id(span.span_id));
    if let Some(parent) = span.parent_id {
        message = message.with(4, "parentSpanId", id(parent));
    }
    let attributes = span.attributes.iter().map(|(name, value)| build_attribute(name, to_field_value(value)));
    message = message
        .with(5, "name", FieldValue::Text(span.name.clone().into_owned()))
        .with(6, "kind", FieldValue::Enumeration(span.kind as u32))
        .with(7, "startTimeUnixNano", FieldValue::Fixed64(span.started))
        .with(8, "endTimeUnixNano", FieldValue::Fixed64(span.ended))
        .with(9, "attributes", FieldValue::Messages(attributes.collect()));
    if !span.is_error {
        return message;
    }
    let status = OtlpMessage::default().with(3, "code", FieldValue::Enumeration(STATUS_ERROR));
    message.with(15, "status", FieldValue::Message(status))
}
