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
    let api = DataApi::new(sources)
        .map_err(|problems| anyhow::Error::msg(format_problems(&problems.lines().collect::<Vec<_>>())))?;
    if task.ready {
        return check_readiness(&api.config());
    }
    let level = match api.config().log_level {
        LogLevel::Critical => "error,postgrest_rs=error",
        LogLevel::Error | LogLevel::Warn | LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    logging::start(level, LogFormat::Text, None)?;
    if task.dump_config || task.dump_schema {
        return print(&build_runtime()?.block_on(dump(&api, task.dump_schema)).map_err(anyhow::Error::msg)?);
    }
    build_runtime()?.block_on(postgrest::serve(api, arguments.file.clone()))?;
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) -> anyhow::Result<ExitCode> {
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The settings, or the schema, after the database was asked.
async fn dump(api: &DataApi, schema: bool) -> Result<String, String> {
    if api.config().db_config {
        let reloaded = api.reload_config(None).await;
        // Settings are printed without those of the database if it does not answer, as by PostgREST.
        if let Err(error) = reloaded {
            tracing::warn!(error, "reading the settings of the database failed");
        }
    }
    if !schema {
        return Ok(api.dump_config());
    }
    api.reload_schema().await?;
    Ok(format!("{}\n", api.cache_summary()))
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
