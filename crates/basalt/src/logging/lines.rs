//! Log lines as text or JSON, with the request and the user of the current span.
//!
//! Each line is formatted once, into a buffer that the thread keeps; a request without log lines costs no formatting.

use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::io::Write as _;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriter};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::json::{JsonFields, write_string};
use super::request_ids::{REQUEST_ID, RequestIds, TRACE_ID, USER_ID};
use crate::config_file::LogFormat;

thread_local! {
    static LINE: Cell<String> = const { Cell::new(String::new()) };
}

/// Writes a line for each event and stores request and user of each request span for it.
///
/// The other fields of a span are not formatted.
pub(super) struct LogLines {
    writer: BoxMakeWriter,
    format: LogFormat,
    /// What is written, if the subscriber also takes spans that are not logged.
    filter: Option<Targets>,
}

impl LogLines {
    /// Creates the layer that writes lines of this form.
    pub(super) fn new(writer: BoxMakeWriter, format: LogFormat, filter: Option<Targets>) -> Self {
        Self { writer, format, filter }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogLines {
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
        let mut recorded = RequestIds::default();
        values.record(&mut recorded);
        if recorded.is_empty() {
            return;
        }
        let Some(span) = context.span(id) else { return };
        if let Some(ids) = span.extensions_mut().get_mut::<RequestIds>() {
            ids.update(recorded);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let (target, level) = (event.metadata().target(), event.metadata().level());
        if self.filter.as_ref().is_some_and(|filter| !filter.would_enable(target, level)) {
            return;
        }
        // An event that is logged while another one is formatted gets a buffer of its own.
        let mut line = LINE.take();
        line.clear();
        let written = match self.format {
            LogFormat::Text => write_text(&mut line, event, &context),
            LogFormat::Json => write_json(&mut line, event, &context),
        };
        if written.is_ok() {
            // Standard error may be closed: a line that cannot be written is dropped without an error.
            let _ = self.writer.make_writer_for(event.metadata()).write_all(line.as_bytes());
        }
        LINE.set(line);
    }
}

/// Writes time, level, message and fields.
fn write_text<S>(line: &mut String, event: &Event<'_>, context: &Context<'_, S>) -> fmt::Result
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    SystemTime.format_time(&mut Writer::new(line))?;
    write!(line, " {:>5} ", event.metadata().level())?;
    DefaultFields::new().format_fields(Writer::new(line), event)?;
    for_each_request_field(event, context, |name, value| write!(line, " {name}={value:?}"))?;
    line.write_char('\n')
}

/// Writes one object with time, level, message, fields and target.
fn write_json<S>(line: &mut String, event: &Event<'_>, context: &Context<'_, S>) -> fmt::Result
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    line.write_str("{\"timestamp\":\"")?;
    SystemTime.format_time(&mut Writer::new(line))?;
    write!(line, "\",\"level\":\"{}\"", event.metadata().level())?;
    let mut fields = JsonFields::new(line);
    event.record(&mut fields);
    let logged_target = fields.finish()?;
    line.write_str(",\"target\":")?;
    write_string(line, logged_target.as_deref().unwrap_or(event.metadata().target()))?;
    for_each_request_field(event, context, |name, value| {
        write!(line, ",\"{name}\":")?;
        write_string(line, value)
    })?;
    line.write_str("}\n")
}

/// Calls `write` with name and value of each field of the enclosing request that the event lacks.
fn for_each_request_field<S>(
    event: &Event<'_>,
    context: &Context<'_, S>,
    mut write: impl FnMut(&str, &str) -> fmt::Result,
) -> fmt::Result
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    for span in context.event_scope(event).into_iter().flatten() {
        let extensions = span.extensions();
        let Some(ids) = extensions.get::<RequestIds>() else { continue };
        let own = event.metadata().fields();
        let trace = ids.trace();
        for (name, value) in [(REQUEST_ID, ids.request()), (USER_ID, ids.user()), (TRACE_ID, trace.as_deref())] {
            if let Some(value) = value.filter(|_| own.field(name).is_none()) {
                write(name, value)?;
            }
        }
        return Ok(());
    }
    Ok(())
}
