//! The log: lines for people or machines, on standard error or in a file.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use gotrue_rs::config::{Loudness, Notice};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::config_file::LogFormat;

/// Starts the log. `level` is a level or a list of `target=level`, as `RUST_LOG` has them.
pub fn start(level: &str, format: LogFormat, file: Option<&Path>) -> anyhow::Result<()> {
    let directives: Vec<&str> = level.split(',').map(str::trim).filter(|directive| !directive.is_empty()).collect();
    let filter = directives
        .join(",")
        .parse::<Targets>()
        .with_context(|| format!("the log level {level:?} is none: try info, debug, or basalt=debug,info"))?;
    let writer = match file {
        None => BoxMakeWriter::new(std::io::stderr),
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
            BoxMakeWriter::new(Mutex::new(file.with_context(|| format!("opening the log file {}", path.display()))?))
        }
    };
    // Whoever read our standard error may be gone: a line that cannot be written is lost, and nothing else with it.
    let lines =
        tracing_subscriber::fmt::layer::<Registry>().with_writer(writer).with_ansi(false).log_internal_errors(false);
    let lines = match format {
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
        LogFormat::Text => lines.with_target(false).boxed(),
    };
    tracing_subscriber::registry().with(lines).with(filter).try_init().context("starting the log")
}

/// What was noticed in the settings before there was a log.
pub fn tell(notices: &[Notice]) {
    for notice in notices {
        match notice.loudness {
            Loudness::Warning => tracing::warn!("{notice}"),
            Loudness::Debug => tracing::debug!("{notice}"),
        }
    }
}
