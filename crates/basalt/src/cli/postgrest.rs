//! `basalt postgrest`: the data API alone, as a drop-in replacement for `PostgREST`.

use std::path::PathBuf;

use clap::Args;
use postgrest_rs::config::{LogLevel, Sources};
use postgrest_rs::service::DataApi;

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::{logging, postgrest};

pub(super) const POSTGREST_HELP: &str = "Run as a drop-in replacement for PostgREST: the data API at the root path

Settings come from the file, from PGRST_* variables and from the database (pgrst.* of the login role), in rising
precedence. SIGUSR1 reads the schema anew, SIGUSR2 the settings. With admin-server-port, /live, /ready, /metrics and
/schema_cache are served there.";

/// The arguments of `basalt postgrest`.
#[derive(Debug, Args)]
pub(super) struct PostgrestArguments {
    /// The configuration file, as PostgREST reads it [default: PGRST_* variables alone]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Serves until a signal arrives.
pub(super) fn run(arguments: &PostgrestArguments) -> anyhow::Result<()> {
    let sources = Sources::read(arguments.file.as_deref()).map_err(anyhow::Error::msg)?;
    let api = DataApi::new(sources).map_err(anyhow::Error::msg)?;
    let level = match api.config().log_level {
        LogLevel::Critical => "error,postgrest_rs=error",
        LogLevel::Error | LogLevel::Warn | LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    logging::start(level, LogFormat::Text, None)?;
    build_runtime()?.block_on(postgrest::serve(api, arguments.file.clone()))
}
