//! `basalt postgrest`: the data API alone, as a drop-in replacement for `PostgREST`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{ArgAction, Args};
use postgrest_rs::config::{Config, LogLevel, Sources};
use postgrest_rs::service::DataApi;
use reqwest::Client;

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::reload::format_problems;
use crate::{logging, postgrest};

pub(super) const POSTGREST_HELP: &str = "Run as a drop-in replacement for PostgREST: the data API at the root path

Settings come from the file, from PGRST_* variables and from the database (pgrst.* of the login role), in rising
precedence. SIGUSR1 reads the schema anew, SIGUSR2 the settings. With admin-server-port, /live, /ready, /metrics and
/schema_cache are served there.";

/// The value of `db-uri` without one.
const DEFAULT_DB_URI: &str = "postgresql://";
/// How long `--ready` waits for the response.
const READY_TIMEOUT: Duration = Duration::from_secs(5);

/// The arguments of `basalt postgrest`.
#[derive(Debug, Args)]
#[command(version, disable_version_flag = true)]
pub(super) struct PostgrestArguments {
    /// The configuration file, as PostgREST reads it [default: PGRST_* variables alone]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    task: Task,
    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
}

/// What is done instead of serving.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct Task {
    /// Print the settings in effect as a configuration file, secrets and those of the database included
    #[arg(long)]
    dump_config: bool,
    /// Print the names that the schema cache holds as JSON
    #[arg(long)]
    dump_schema: bool,
    /// Print a configuration file with the defaults of all settings
    #[arg(short, long)]
    example: bool,
    /// Ask the administration port of a running server whether it is ready; exit status 0 or 1
    #[arg(long)]
    ready: bool,
}

/// Serves until a signal arrives, or does what the arguments ask for instead.
pub(super) fn run(arguments: &PostgrestArguments) -> anyhow::Result<ExitCode> {
    let task = &arguments.task;
    if task.example {
        return print(&Config::example().map_err(anyhow::Error::msg)?);
    }
    let sources = Sources::read(arguments.file.as_deref()).map_err(anyhow::Error::msg)?;
    if task.dump_config {
        return print(&build_runtime()?.block_on(dump_config(sources))?);
    }
    let api = DataApi::new(sources).map_err(|problems| refuse(&problems))?;
    if task.ready {
        return check_readiness(&api.config());
    }
    start_logging(&api.config())?;
    if task.dump_schema {
        return print(&build_runtime()?.block_on(dump_schema(&api)).map_err(anyhow::Error::msg)?);
    }
    if api.config().db_uri == DEFAULT_DB_URI {
        tracing::warn!(
            "db-uri is not set, in the file or as PGRST_DB_URI: the database is that of the PG* variables, else of this machine"
        );
    }
    build_runtime()?.block_on(postgrest::serve(api, arguments.file.clone()))?;
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) -> anyhow::Result<ExitCode> {
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The error of settings that cannot be used.
fn refuse(problems: &str) -> anyhow::Error {
    anyhow::Error::msg(format_problems(&problems.lines().collect::<Vec<_>>()))
}

fn start_logging(config: &Config) -> anyhow::Result<()> {
    let level = match config.log_level {
        LogLevel::Critical => "error,postgrest_rs=error",
        LogLevel::Error | LogLevel::Warn | LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    logging::start(level, LogFormat::Text, None)
}

/// The settings with those of the database, or without them if it does not answer or `db-uri` is malformed.
async fn dump_config(sources: Sources) -> anyhow::Result<String> {
    let config = Config::build(&sources).map_err(|problems| refuse(&problems))?;
    start_logging(&config)?;
    if config.db_config {
        match read_database_settings(sources.clone()).await {
            Ok(dumped) => return Ok(dumped),
            Err(error) => tracing::warn!(error, "reading the settings of the database failed"),
        }
    }
    Ok(config.dump(&sources))
}

async fn read_database_settings(sources: Sources) -> Result<String, String> {
    let api = DataApi::new(sources)?;
    api.reload_config(None).await?;
    Ok(api.dump_config())
}

/// The names of the schema, after the database was asked for its settings.
async fn dump_schema(api: &DataApi) -> Result<String, String> {
    if api.config().db_config
        && let Err(error) = api.reload_config(None).await
    {
        tracing::warn!(error, "reading the settings of the database failed");
    }
    api.reload_schema().await?;
    Ok(format!("{}\n", api.summarize_cache().await?))
}

/// Prints what the administration port of the settings answers.
fn check_readiness(config: &Config) -> anyhow::Result<ExitCode> {
    let failed = |message: &str| {
        eprintln!("ERROR: {message}");
        Ok(ExitCode::FAILURE)
    };
    let Some(port) = config.admin_server_port else {
        return failed("Admin server is not running. Please check admin-server-port config.");
    };
    let host = &config.admin_server_host;
    if host.starts_with(['*', '!']) {
        return failed(&format!(
            "The `--ready` flag cannot be used when server-host is configured as \"{host}\". \
             Please update your server-host config to \"localhost\"."
        ));
    }
    let url = if host.contains(':') {
        format!("http://[{host}]:{port}/ready")
    } else {
        format!("http://{host}:{port}/ready")
    };
    let client = Client::builder().no_proxy().timeout(READY_TIMEOUT).build().context("building the HTTP client")?;
    match build_runtime()?.block_on(async { client.get(&url).send().await }) {
        Ok(response) if response.status().is_success() => print(&format!("OK: {url}\n")),
        Ok(_) => failed(&url),
        Err(error) if error.is_builder() => failed(&format!("invalid url - {url}")),
        Err(error) if error.is_timeout() => failed(&format!("no response in time from {url}")),
        Err(_) => failed(&format!("connection refused to {url}")),
    }
}
