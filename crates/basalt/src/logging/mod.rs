//! Logging as text or JSON, on standard error or to a file.

mod json;
mod lines;
mod request_ids;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use gotrue_rs::config::{Notice, NoticeLevel};
use platform::store::SQL_LOG;
use telemetry::span_layer::SpanLayer;
use telemetry::tracer;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use self::lines::LogLines;
use crate::config_file::LogFormat;

/// Starts logging, to standard error if the file cannot be opened; that is logged as an error.
pub(crate) fn start_in_file_if_possible(level: &str, format: LogFormat, file: &Path) -> anyhow::Result<()> {
    let Err(error) = open_log_file(file) else { return start(level, format, Some(file)) };
    start(level, format, None)?;
    tracing::error!(file = %file.display(), %error, "log file cannot be opened, logging to standard error");
    Ok(())
}

fn open_log_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Starts logging, and the recording of spans if there is a tracer.
/// `level` is a level or a list of `target=level`, as in `RUST_LOG`.
pub(crate) fn start(level: &str, format: LogFormat, file: Option<&Path>) -> anyhow::Result<()> {
    let directives: Vec<&str> = level.split(',').map(str::trim).filter(|directive| !directive.is_empty()).collect();
    let filter = directives
        .join(",")
        .parse::<Targets>()
        .with_context(|| format!("the log level {level:?} is none: try info, debug, or basalt=debug,info"))?;
    let writer = match file {
        None => BoxMakeWriter::new(std::io::stderr),
        Some(path) => BoxMakeWriter::new(Mutex::new(
            open_log_file(path).with_context(|| format!("opening the log file {}", path.display()))?,
        )),
    };
    if !tracer::is_installed() {
        return build_subscriber(writer, format).with(filter).try_init().context("starting the log");
    }
    // Spans are exported whatever is logged.
    let level = filter.default_level().unwrap_or(LevelFilter::OFF).max(LevelFilter::INFO);
    let spans = filter.clone().with_default(level).with_target(SQL_LOG, LevelFilter::DEBUG);
    let lines = LogLines::new(writer, format, Some(filter));
    tracing_subscriber::registry().with(lines).with(SpanLayer).with(spans).try_init().context("starting the log")
}

/// Builds a subscriber that writes lines of this form.
fn build_subscriber(
    writer: BoxMakeWriter,
    format: LogFormat,
) -> impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync {
    tracing_subscriber::registry().with(LogLines::new(writer, format, None))
}

/// Logs the notices that were collected from the settings before logging started.
pub(crate) fn log_notices(notices: &[Notice]) {
    for notice in notices {
        match notice.level {
            NoticeLevel::Warning => tracing::warn!(%notice, "setting may not have the intended effect"),
            NoticeLevel::Debug => tracing::debug!(%notice, "setting may not have the intended effect"),
        }
    }
}
