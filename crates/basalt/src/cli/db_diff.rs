//! `basalt db diff`: what was changed in a database without a migration.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use gotrue_rs::config::Config;
use platform::store::migrate::ApplyOptions;

use super::migration::write_migration;
use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::logging;
use crate::project::{Project, ProjectArguments};
use crate::project_database::{ProjectDatabase, read_settings};
use crate::project_schema::{SchemaFiles, ScratchDatabase, apply_files};
use crate::schema_difference::{DatabaseDifference, compare_databases};

/// The long help of the command.
pub(super) const DIFF_HELP: &str = "Print the SQL that makes the migrations equal to the database

The migrations are applied to a scratch database, which is compared with the database of the project: that of the running
server, the stopped embedded one, or with --database-url another one, which is only read. The statements are tried on the
scratch database, and those that fail there are told.

Compared are schemas, extensions, enums, domains, composite types, sequences, tables with columns, defaults and partitions,
constraints, indexes, views, functions, triggers, policies, row level security and rights. Policies and triggers are
compared on tables of the schemas auth, storage and realtime, too. Not compared are rows, comments, owners, default
privileges, rights on single columns and on types, aggregates, operators, casts, rules, inheritance, foreign tables, event
triggers, publications and statistics. A renamed object is a dropped one and a new one: read the SQL before you use it.";

const EXAMPLES: &str = "Examples:
  basalt db diff
  basalt db diff --file add_notes           write supabase/migrations/<time>_add_notes.sql
  basalt db diff --database-url postgresql://postgres:…@db.example.com:5432/postgres";

/// The arguments of `basalt db diff`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DiffArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Another database, as a role that may read its catalogue [default: that of the project]
    #[arg(long, value_name = "URL", global = true)]
    database_url: Option<String>,
    /// Write a migration of this name instead of printing the SQL
    #[arg(long, short, value_name = "NAME")]
    file: Option<String>,
}

/// Prints or writes the difference.
pub(super) fn run(arguments: &DiffArguments) -> anyhow::Result<ExitCode> {
    let project = Project::load(&arguments.project)?;
    logging::start("error", LogFormat::Text, None)?;
    let difference = build_runtime()?.block_on(Box::pin(compare(&project, arguments.database_url.as_deref())))?;
    for (statement, reason) in &difference.failed {
        let line = statement.lines().next().unwrap_or_default();
        eprintln!("basalt: this statement fails after the migrations: {line} ({reason})");
    }
    if difference.is_incomplete {
        eprintln!("basalt: the databases still differ after these statements: complete them by hand");
    }
    let mut out = std::io::stdout().lock();
    match &arguments.file {
        _ if difference.statements.is_empty() => eprintln!("There is no difference."),
        Some(name) => {
            let path = write_migration(&project, name, &difference.to_script())?;
            writeln!(out, "Created {}", path.display())?;
        }
        None => write!(out, "{}", difference.to_script())?,
    }
    let is_complete = difference.failed.is_empty() && !difference.is_incomplete;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn compare(project: &Project, url: Option<&str>) -> anyhow::Result<DatabaseDifference> {
    let mut config = read_settings(project)?;
    let Some(scratch) = ScratchDatabase::start(project).await? else {
        bail!("there is no PostgreSQL on this machine for the scratch database: PG_BIN_DIR names its programs");
    };
    let difference = compare_with_scratch(project, &scratch.url(), url, &mut config).await;
    scratch.stop().await?;
    difference
}

async fn compare_with_scratch(
    project: &Project,
    scratch: &str,
    url: Option<&str>,
    config: &mut Config,
) -> anyhow::Result<DatabaseDifference> {
    let mut files = SchemaFiles::read(project)?;
    files.schema.seeds.clear();
    let applied = apply_files(&files, scratch, &config.database, &config.policy.hooks, ApplyOptions::START).await;
    let (_, report) = applied.context("applying the migrations to the scratch database")?;
    if report.is_incomplete() {
        eprint!("{}", report.to_text());
    }
    let database = ProjectDatabase::open(project, url, config).await?;
    let difference = compare_databases(scratch, &database.url).await;
    database.close().await?;
    difference
}
