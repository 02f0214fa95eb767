//! `basalt db migrate`: applies the files of the project that have not run yet.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use platform::store::migrate::{
    AppliedFiles, ApplyOptions, OlderMigrations, ProjectSchema, SkippedBefore, TargetDatabase,
};
use serde_json::json;

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::logging;
use crate::project::{Project, ProjectArguments};
use crate::project_database::{ProjectDatabase, read_settings};
use crate::project_schema::{ProjectReport, SchemaFiles, apply_files};

/// The long help of the command.
pub(super) const MIGRATE_HELP: &str = "Apply the migrations and seed files that have not run yet

The database is that of the running server of this project, or the stopped embedded one; with --database-url it is another
one. In the embedded database a statement that fails is skipped and listed, as at a start: exit status 4. In another
database it undoes its file and ends the command: exit status 1; seed files run there with --include-seed only.

A migration that is older than an applied one is refused, unless --include-all is given. Two commands at once wait for each
other.";

const EXAMPLES: &str = "Examples:
  basalt db migrate
  basalt db migrate --retry-skipped         after an extension was installed, for example
  basalt db migrate --database-url postgresql://postgres:…@db.example.com:5432/postgres";

/// The arguments of `basalt db migrate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MigrateArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Another database, as a role that may change its schemas [default: that of the project]
    #[arg(long, value_name = "URL", global = true)]
    database_url: Option<String>,
    /// Run statements again that were skipped before
    #[arg(long)]
    retry_skipped: bool,
    /// Apply migrations that are older than applied ones, too
    #[arg(long)]
    include_all: bool,
    /// With --database-url: run the seed files, too
    #[arg(long, requires = "database_url")]
    include_seed: bool,
    /// Exit status 0 although statements are skipped
    #[arg(long)]
    allow_skipped: bool,
    /// Print what was applied and skipped as JSON
    #[arg(long, global = true)]
    json: bool,
}

/// Applies the files and prints which.
pub(super) fn run(arguments: &MigrateArguments) -> anyhow::Result<ExitCode> {
    let project = Project::load(&arguments.project)?;
    logging::start("warn", LogFormat::Text, None)?;
    let (applied, report) = build_runtime()?.block_on(Box::pin(migrate(&project, arguments)))?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let AppliedFiles { ran, changed_seeds, missing_versions, .. } = &applied;
        let skipped = report.list_skipped();
        let text = json!({ "applied": ran, "changed_seeds": changed_seeds, "missing_versions": missing_versions, "skipped": skipped });
        writeln!(out, "{text}")?;
    } else {
        for path in &applied.ran {
            writeln!(out, "applied {path}")?;
        }
        if applied.ran.is_empty() {
            writeln!(out, "No file of the project is new.")?;
        }
        // An exit status that tells of skipped statements is reported with them.
        if arguments.allow_skipped || !report.is_incomplete() {
            write!(std::io::stderr(), "{}", report.to_text())?;
        }
    }
    Ok(report.exit_code(arguments.allow_skipped))
}

async fn migrate(project: &Project, arguments: &MigrateArguments) -> anyhow::Result<(AppliedFiles, ProjectReport)> {
    let mut files = SchemaFiles::read(project)?;
    let mut config = read_settings(project)?;
    let database = ProjectDatabase::open(project, arguments.database_url.as_deref(), &mut config).await?;
    if database.target == TargetDatabase::External {
        // Roles and test data are of the operator.
        let ProjectSchema { migrations, seeds, .. } = std::mem::take(&mut files.schema);
        let seeds = if arguments.include_seed { seeds } else { Vec::new() };
        files.schema = ProjectSchema { roles: None, migrations, seeds };
    }
    let options = ApplyOptions {
        target: database.target,
        before: if arguments.retry_skipped { SkippedBefore::Retry } else { SkippedBefore::IfChanged },
        older: if arguments.include_all { OlderMigrations::Apply } else { OlderMigrations::Refuse },
    };
    let applied = apply_files(&files, &database.url, &config.database, &config.policy.hooks, options).await;
    database.close().await?;
    applied
}
