//! The subscriber layer that turns `tracing` spans of sampled requests into spans for export.
//!
//! A span with the field [`SPAN_ID`] starts a trace or names its own id; any other is recorded if its parent is.

use std::borrow::Cow;
use std::fmt;

use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::tracer::{self, AttributeValue, FinishedSpan, SpanKind};

/// The field with the id of the trace.
pub const TRACE_ID: &str = "trace_id";
/// The field with the id of the span.
pub const SPAN_ID: &str = "span_id";
/// The field with the id of the parent in another process.
pub const PARENT_ID: &str = "parent_span_id";

/// The exported attributes; other fields of spans are not exported.
const EXPORTED: &[&str] = &[
    "db.query.summary",
    "db.response.affected_rows",
    "db.response.returned_rows",
    "db.system.name",
    "error.code",
    "error.type",
    "function",
    "hook",
    "http.request.method",
    "http.response.status_code",
    "http.route",
    "mail.purpose",
    "outcome",
    "peer.service",
    "request.id",
    "server.address",
    "server.port",
    "user.id",
];
/// The maximum length of a text attribute in bytes.
const MAX_TEXT_BYTES: usize = 200;

/// Records spans and queues them when they end.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpanLayer;

/// A span that has not ended.
struct OpenSpan {
    started: u64,
    fields: SpanFields,
}

/// The recorded fields of a span.
#[derive(Default)]
struct SpanFields {
    trace_id: u128,
    span_id: u64,
    parent_id: Option<u64>,
    attributes: Vec<(&'static str, AttributeValue)>,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = SpanFields::default();
        if let Some(parent) = span.parent()
            && let Some(open) = parent.extensions().get::<OpenSpan>()
        {
            fields.trace_id = open.fields.trace_id;
            fields.parent_id = Some(open.fields.span_id);
        } else if attributes.metadata().fields().field(PARENT_ID).is_none() {
            return;
        }
        attributes.record(&mut fields);
        if fields.span_id == 0 {
            // A request without an id is not sampled; any other span gets its id here.
            if fields.parent_id.is_none() || attributes.metadata().fields().field(PARENT_ID).is_some() {
                return;
            }
            fields.span_id = tracer::new_span_id().unwrap_or_default();
        }
        span.extensions_mut().insert(OpenSpan { started: tracer::unix_nanos(), fields });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<OpenSpan>() {
            values.record(&mut open.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(OpenSpan { started, fields }) = span.extensions_mut().remove::<OpenSpan>() else { return };
        tracer::enqueue(fields.finish(span.name(), started));
    }
}

impl SpanFields {
    fn finish(self, name: &'static str, started: u64) -> FinishedSpan {
        let Self { trace_id, span_id, parent_id, attributes } = self;
        let text = |wanted: &str| {
            attributes.iter().find_map(|(name, value)| match value {
                AttributeValue::Text(text) if *name == wanted => Some(text.as_ref()),
                _ => None,
            })
        };
        let status = attributes.iter().find_map(|(name, value)| match value {
            AttributeValue::Integer(status) if *name == "http.response.status_code" => Some(*status),
            _ => None,
        });
        let (kind, first_error, span_name) = match name {
            "request" => (SpanKind::Server, 500, [text("http.request.method"), text("http.route")]),
            "statement" => (SpanKind::Client, 400, [text("db.query.summary"), None]),
            "outbound_call" => (SpanKind::Client, 400, [text("http.request.method"), text("peer.service")]),
            "mail_delivery" | "sms" => (SpanKind::Client, 400, [None, None]),
            _ => (SpanKind::Internal, 400, [None, None]),
        };
        let parts: Vec<&str> = span_name.into_iter().flatten().collect();
        let span_name = if parts.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(parts.join(" ")) };
        let is_delivery_failed =
            matches!(name, "mail_delivery" | "sms" | "hook") && !matches!(text("outcome"), Some("sent" | "ok"));
        let is_error =
            status.is_some_and(|status| status >= first_error) || text("error.type").is_some() || is_delivery_failed;
        let ended = tracer::unix_nanos();
        FinishedSpan { trace_id, span_id, parent_id, name: span_name, kind, started, ended, is_error, attributes }
    }

    fn put(&mut self, field: &Field, value: impl FnOnce() -> AttributeValue) {
        let Some(name) = EXPORTED.iter().find(|name| **name == field.name()) else { return };
        self.attributes.retain(|(before, _)| before != name);
        self.attributes.push((name, value()));
    }
}

impl Visit for SpanFields {
    fn record_u128(&mut self, field: &Field, value: u128) {
        if field.name() == TRACE_ID {
            self.trace_id = value;
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            SPAN_ID => self.span_id = value,
            PARENT_ID => self.parent_id = Some(value),
            _ => self.put(field, || AttributeValue::Integer(i64::try_from(value).unwrap_or(i64::MAX))),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, || AttributeValue::Integer(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, || AttributeValue::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, || AttributeValue::Text(Cow::Owned(cut(value).to_owned())));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, || AttributeValue::Text(Cow::Owned(cut(&format!("{value:?}")).to_owned())));
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}
