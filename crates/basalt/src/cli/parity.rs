//! `basalt parity`: reports what becomes of an installation of Supabase.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::parity::{Report, Source, inspect_database, read_source, write_json, write_text};
use crate::project::{Project, ProjectArguments};
use crate::scratch_database::{ScratchOutcome, TriedFiles, try_project};
use crate::{api_keys, logging};

/// The long help of the command.
pub(super) const PARITY_HELP: &str = "Report what becomes of the settings and data of an installation of Supabase

Reads what configures the auth server today, and reports for each setting whether Basalt honours it, why it has no
effect, or how it differs, with the row of docs/compatibility.md. Secrets are never printed. With --database-url, the
data are looked at in short read-only transactions, for which a role that may only read is enough (SELECT in schema
auth, BYPASSRLS). Nothing is changed.

Exit status: 0 if nothing stands in the way, 1 if there is something to look at first, 2 if a source cannot be read.";

const EXAMPLES: &str = "Examples:
  basalt parity --compose docker/docker-compose.yml
  basalt parity --config supabase/config.toml
  basalt parity --env /etc/auth.env --database-url postgresql://reader:…@db:5432/postgres
  basalt parity --database-url postgresql://reader:…@db:5432/postgres
  basalt parity --compose docker-compose.yml --json > parity.json";

/// The exit status if a source cannot be read.
const UNREADABLE: u8 = 2;

/// The arguments of `basalt parity`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ParityArguments {
    /// A file of GOTRUE_* variables [default: those of the environment and of .env]
    #[arg(long, value_name = "FILE", group = "source")]
    env: Option<PathBuf>,
    /// A config.toml of the Supabase CLI, with the .env files of its project
    #[arg(long, value_name = "FILE", group = "source")]
    config: Option<PathBuf>,
    /// A Compose file, such as that of the official self-hosting, with the .env beside it
    #[arg(long, value_name = "FILE", group = "source")]
    compose: Option<PathBuf>,
    /// Look at this database, too; without a source of settings, at it alone
    #[arg(long, value_name = "URL", alias = "database")]
    database_url: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Prints the report.
pub(super) fn run(arguments: &ParityArguments) -> anyhow::Result<ExitCode> {
    logging::start("error", LogFormat::Text, None)?;
    let report = match read_report(arguments) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("basalt: {error:#}");
            return Ok(ExitCode::from(UNREADABLE));
        }
    };
    let mut out = std::io::stdout().lock();
    let write = if arguments.json { write_json } else { write_text };
    write(&report, &mut out)?;
    out.flush()?;
    Ok(if report.matters() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Adds the statements that are skipped when the files of the project are applied to a scratch database.
async fn add_skipped_statements(config: &Path, report: &mut Report) -> anyhow::Result<()> {
    let arguments = ProjectArguments { config: Some(config.to_owned()), data: None };
    let (project, _) = Project::inspect(&arguments)?;
    let keys = api_keys::combine(None, &project.configured_keys(), &Entropy::from_system(), SystemClock.now());
    let Ok(config) = keys.and_then(|keys| project.settings(&project.api_url(project.file.port()), &keys)) else {
        // The report says what is wrong with the settings.
        return Ok(());
    };
    match try_project(&project, &config.policy.hooks).await {
        Ok(ScratchOutcome::Applied(TriedFiles { report: found, .. })) => {
            let is_incomplete = found.is_incomplete() || !found.missing_functions.is_empty();
            let lines = if is_incomplete { &mut report.skipped } else { &mut report.warnings };
            lines.extend(found.lines(true));
        }
        Ok(ScratchOutcome::NoFiles) => {}
        Ok(ScratchOutcome::NoPostgres) => {
            report.unread.push("the files of the project were not tried: there is no PostgreSQL here".to_owned());
        }
        Err(error) => report.problems.push(format!("{error:#}")),
    }
    Ok(())
}

fn read_report(arguments: &ParityArguments) -> anyhow::Result<Report> {
    let source = match (&arguments.config, &arguments.compose) {
        (Some(config), _) => Source::ConfigFile(config.clone()),
        (None, Some(compose)) => Source::Compose(compose.clone()),
        (None, None) if arguments.env.is_none() && arguments.database_url.is_some() => Source::of_environment()?,
        (None, None) => Source::Variables(arguments.env.clone()),
    };
    let mut report = read_source(&source)?;
    if let Source::ConfigFile(config) = &source {
        build_runtime()?.block_on(Box::pin(add_skipped_statements(config, &mut report)))?;
    }
    if let Some(url) = &arguments.database_url {
        report.database = Some(build_runtime()?.block_on(inspect_database(url, &report.disabled_providers))?);
    }
    Ok(report)
}
