//! The form of log lines: text or JSON, with the request and the user of the current span.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::{DefaultFields, Format, Json, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The span fields that are added to log lines.
const REQUEST_ID: &str = "request.id";
const USER_ID: &str = "user.id";

/// Stores request and user of each request span for [`TextLines`] and [`JsonLines`].
///
/// The other fields of a span are not formatted: a request without log lines costs no formatting.
pub(super) struct RequestFields;

/// Request and user of a span.
#[derive(Default)]
struct RequestIds {
    request: Option<String>,
    user: Option<String>,
}

impl Visit for RequestIds {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            REQUEST_ID => self.request = Some(value.to_owned()),
            USER_ID => self.user = Some(value.to_owned()),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if matches!(field.name(), REQUEST_ID | USER_ID) {
            self.record_str(field, &format!("{value:?}"));
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for RequestFields {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().fields().field(REQUEST_ID).is_none() {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let mut ids = RequestIds::default();
        attributes.record(&mut ids);
        span.extensions_mut().insert(ids);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(ids) = span.extensions_mut().get_mut::<RequestIds>() {
            values.record(ids);
        }
    }
}

/// Calls `write` with name and value of each field of the enclosing request that the event lacks.
fn write_request_fields<S, N>(
    context: &FmtContext<'_, S, N>,
    event: &Event<'_>,
    mut write: impl FnMut(&str, &str) -> fmt::Result,
) -> fmt::Result
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
{
    for span in context.event_scope().into_iter().flatten() {
        let extensions = span.extensions();
        let Some(ids) = extensions.get::<RequestIds>() else { continue };
        for (name, value) in [(REQUEST_ID, &ids.request), (USER_ID, &ids.user)] {
            if let Some(value) = value.as_deref().filter(|_| event.metadata().fields().field(name).is_none()) {
                write(name, value)?;
            }
        }
        return Ok(());
    }
    Ok(())
}

/// Formats no fields of spans; log lines contain only those of [`RequestFields`].
pub(super) struct NoSpanFields;

impl<'w> FormatFields<'w> for NoSpanFields {
    fn format_fields<R: tracing_subscriber::field::RecordFields>(&self, _: Writer<'w>, _: R) -> fmt::Result {
        Ok(())
    }
}

/// Text lines: time, level, message and fields.
pub(super) struct TextLines;

impl<S, N> FormatEvent<S, N> for TextLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        SystemTime.format_time(&mut line)?;
        write!(line, " {:>5} ", event.metadata().level())?;
        DefaultFields::new().format_fields(line.by_ref(), event)?;
        write_request_fields(context, event, |name, value| write!(line, " {name}={value:?}"))?;
        writeln!(line)
    }
}

/// JSON lines: one object with time, level, target, message and fields.
pub(super) struct JsonLines(pub(super) Format<Json>);

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut object = String::new();
        self.0.format_event(context, Writer::new(&mut object), event)?;
        line.write_str(object.trim_end().strip_suffix('}').unwrap_or(&object))?;
        write_request_fields(context, event, |name, value| {
            write!(line, ",\"{name}\":{}", serde_json::Value::from(value))
        })?;
        line.write_str("}\n")
    }
}
