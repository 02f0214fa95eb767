//! `basalt db diff`: what was changed in a database without a migration.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Args;
use foundation::secret::Secret;
use gotrue_rs::config::{Config, DatabaseSettings};
use platform::store::migrate::{ApplyOptions, TargetDatabase, list_pending, record_applied};
use sqlx::PgPool;

use super::db_migrate::refuse_transaction_pooler;
use super::migration::write_migration;
use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::plural::format_count;
use crate::project::{Project, ProjectArguments};
use crate::project_database::{ProjectDatabase, read_settings};
use crate::project_schema::{SchemaFiles, apply_files};
use crate::schema_difference::{DatabaseDifference, compare_databases};
use crate::scratch_database::ScratchDatabase;
use crate::{database, logging};

/// The long help of the command.
pub(super) const DIFF_HELP: &str = "Print the SQL that makes the migrations equal to the database

The migrations are applied to a scratch database, which is compared with the database of the project: that of the running
server, the stopped embedded one, or with --database-url another one, which is only read. The statements are tried on the
scratch database, and those that fail there are reported.

Compared are schemas, extensions, enums, domains, composite types, sequences, tables with columns, defaults and partitions,
constraints, indexes, views, functions, triggers, policies, row level security and rights. Policies and triggers are
compared on tables of the schemas auth, storage and realtime, too. Not compared are rows, comments, owners, default
privileges, rights on single columns and on types, aggregates, operators, casts, rules, inheritance, foreign tables, event
triggers, publications and statistics. A renamed object is a dropped one and a new one: read the SQL before you use it.

A migration of --file is recorded as applied in the database of the project, which has already what it makes; in another one
with --record only, as `supabase db pull` does.";

const EXAMPLES: &str = "Examples:
  basalt db diff
  basalt db diff --file add_notes           write supabase/migrations/<time>_add_notes.sql
  basalt db diff --file remote --record --database-url postgresql://postgres:…@db.example.com:5432/postgres
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
    /// With --database-url and --file: record the migration as applied there
    #[arg(long, requires = "file")]
    record: bool,
}

/// Prints or writes the difference.
pub(super) fn run(arguments: &DiffArguments) -> anyhow::Result<ExitCode> {
    ensure!(
        !arguments.record || arguments.database_url.is_some(),
        "--record is for another database, named with --database-url: that of the project records what --file writes"
    );
    let project = Project::load(&arguments.project)?;
    logging::start("error", LogFormat::Text, None)?;
    let outcome = build_runtime()?.block_on(Box::pin(find_difference(&project, arguments)))?;
    let Outcome { difference, written } = outcome;
    for (statement, reason) in &difference.failed {
        let line = statement.lines().next().unwrap_or_default();
        eprintln!("basalt: this statement fails after the migrations: {line} ({reason})");
    }
    if difference.is_incomplete {
        eprintln!("basalt: the databases still differ after these statements: complete them by hand");
    }
    let mut out = std::io::stdout().lock();
    match &written {
        _ if difference.statements.is_empty() => eprintln!("There is no difference."),
        None => write!(out, "{}", difference.to_script())?,
        Some(written) => {
            writeln!(out, "Created {}", written.path.display())?;
            eprintln!("{}", describe_record(written));
        }
    }
    let is_complete = difference.failed.is_empty() && !difference.is_incomplete;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn describe_record(written: &WrittenMigration) -> &'static str {
    match written.record {
        Record::Made => "It is recorded as applied: the database has already what it makes.",
        Record::NotAsked => {
            "It is not recorded in that database, which was only read: --record does so, and without it the migration \
             fails there because its objects exist."
        }
        Record::NoMigrations => "[db.migrations] is not enabled: nothing applies or records it.",
    }
}

/// What the command found, and the migration that it wrote.
struct Outcome {
    difference: DatabaseDifference,
    written: Option<WrittenMigration>,
}

/// A migration with the difference.
struct WrittenMigration {
    /// The path from the root of the project.
    path: PathBuf,
    record: Record,
}

/// Whether a written migration is recorded as applied in the compared database.
enum Record {
    Made,
    NotAsked,
    NoMigrations,
}

async fn find_difference(project: &Project, arguments: &DiffArguments) -> anyhow::Result<Outcome> {
    let mut config = read_settings(project)?;
    let database = ProjectDatabase::open(project, arguments.database_url.as_deref(), &mut config).await?;
    let outcome = find_and_write(project, arguments, &database, &config).await;
    database.close().await?;
    outcome
}

async fn find_and_write(
    project: &Project,
    arguments: &DiffArguments,
    database: &ProjectDatabase,
    config: &Config,
) -> anyhow::Result<Outcome> {
    let settings = DatabaseSettings { url: Secret::from(database.url.as_str()), ..config.database.clone() };
    let pool = database::build_migration_pool(&settings).await?;
    let pending = check_pending(project, arguments, database.target, &pool).await;
    let outcome = match pending {
        Ok(()) => {
            let difference = compare(project, &database.url, config).await?;
            write_difference(project, arguments, difference, database.target, (&pool, &settings)).await
        }
        Err(error) => Err(error),
    };
    pool.close().await;
    outcome
}

/// Tells which migrations the database lacks: the difference would undo them.
///
/// # Errors
/// A migration is to be recorded in such a database, which would then refuse the older ones.
async fn check_pending(
    project: &Project,
    arguments: &DiffArguments,
    target: TargetDatabase,
    pool: &PgPool,
) -> anyhow::Result<()> {
    let files = SchemaFiles::read(project)?;
    let pending = list_pending(pool, &files.schema.migrations).await?;
    let Some(first) = pending.first() else { return Ok(()) };
    let text = format!(
        "{} is not applied to the database ({} in all), so that the difference undoes it",
        first.file.path,
        format_count(pending.len(), "migration")
    );
    let is_recorded = arguments.file.is_some() && (target == TargetDatabase::Embedded || arguments.record);
    ensure!(!is_recorded, "{text}: run `basalt db migrate` first");
    eprintln!("basalt: {text}");
    Ok(())
}

/// Writes the migration, if one is asked for, and records it.
async fn write_difference(
    project: &Project,
    arguments: &DiffArguments,
    difference: DatabaseDifference,
    target: TargetDatabase,
    (pool, settings): (&PgPool, &DatabaseSettings),
) -> anyhow::Result<Outcome> {
    let name = arguments.file.as_ref().filter(|_| !difference.statements.is_empty());
    let Some(name) = name else { return Ok(Outcome { difference, written: None }) };
    let path = write_migration(project, name, &difference.to_script())?;
    let files = SchemaFiles::read(project)?;
    let migration = files.schema.migrations.iter().find(|migration| Path::new(&migration.file.path) == path);
    let record = match migration {
        None => Record::NoMigrations,
        Some(_) if target == TargetDatabase::External && !arguments.record => Record::NotAsked,
        Some(migration) => {
            if target == TargetDatabase::External {
                refuse_transaction_pooler(settings).await?;
            }
            let recorded = record_applied(pool, migration, target).await;
            recorded.with_context(|| format!("{} was written; recording it as applied", path.display()))?;
            Record::Made
        }
    };
    Ok(Outcome { difference, written: Some(WrittenMigration { path, record }) })
}

/// Compares a database with a scratch database of the migrations.
async fn compare(project: &Project, url: &str, config: &Config) -> anyhow::Result<DatabaseDifference> {
    let Some(scratch) = ScratchDatabase::start(project).await? else {
        bail!("there is no PostgreSQL on this machine for the scratch database: PG_BIN_DIR names its programs");
    };
    let difference = compare_with_scratch(project, &scratch.url(), url, config).await;
    scratch.stop().await?;
    difference
}

async fn compare_with_scratch(
    project: &Project,
    scratch: &str,
    url: &str,
    config: &Config,
) -> anyhow::Result<DatabaseDifference> {
    let mut files = SchemaFiles::read(project)?;
    files.schema.seeds.clear();
    let applied = apply_files(&files, scratch, &config.database, &config.policy.hooks, ApplyOptions::START).await;
    let (_, report) = applied.context("applying the migrations to the scratch database")?;
    if report.is_incomplete() {
        eprint!("{}", report.to_text());
    } else {
        logging::log_notices(report.left_out.as_slice());
    }
    compare_databases(scratch, url).await
}
