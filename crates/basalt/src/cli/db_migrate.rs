//! `basalt db migrate`: applies the files of the project that have not run yet.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Args;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use platform::store::acquire_connection;
use platform::store::migrate::{
    AppliedFiles, ApplyOptions, CompletedFile, OlderMigrations, ProjectSchema, SkippedBefore, TargetDatabase,
};
use serde_json::{Value, json};
use sqlx::Row;

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::plural::format_count;
use crate::project::{Project, ProjectArguments};
use crate::project_database::{ProjectDatabase, read_settings};
use crate::project_schema::{ProjectReport, SchemaFiles, apply_files, write_secrets};
use crate::row_security::describe_unprotected_tables;
use crate::{database, logging};

/// The long help of the command.
pub(super) const MIGRATE_HELP: &str = "Apply the migrations and seed files that have not run yet

The database is that of the running server of this project, or the stopped embedded one; with --database-url it is another
one. In the embedded database a statement that fails is skipped and listed, as at a start: exit status 4. In another
database it undoes its file and ends the command: exit status 1; seed files run there with --include-seed only.

Statements of an applied migration that were skipped run when they are corrected. Other changes of it do not run, and a warning
names its file. A migration that is older than an applied one is refused, unless --include-all is given. Two commands at once
wait for each other; a pooler in transaction mode, behind which they could not, is refused.";

const EXAMPLES: &str = "Examples:
  basalt db migrate
  basalt db migrate --retry-skipped         after an extension was installed, for example
  basalt db migrate --database-url postgresql://postgres:…@db.example.com:5432/postgres";

/// How often the sessions of two connections are compared.
const POOLER_PROBES: usize = 5;

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
    #[arg(long)]
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
    ensure!(
        !arguments.include_seed || arguments.database_url.is_some(),
        "--include-seed is for another database: name it with --database-url"
    );
    let project = Project::load(&arguments.project)?;
    logging::start("warn", LogFormat::Text, None)?;
    let (applied, report) = build_runtime()?.block_on(Box::pin(migrate(&project, arguments)))?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        logging::log_notices(report.left_out.as_slice());
        writeln!(out, "{}", to_json(&applied, &report))?;
    } else {
        for CompletedFile { path, statements } in &applied.completed {
            writeln!(out, "ran {} of {path} that had not run before", format_count(statements, "statement"))?;
        }
        if applied.ran.is_empty() && applied.completed.is_empty() {
            writeln!(out, "No file of the project is new.")?;
        }
        // An exit status that tells of skipped statements is reported with them.
        if arguments.allow_skipped || !report.is_incomplete() {
            write!(std::io::stderr(), "{}", report.to_text())?;
        }
    }
    Ok(report.exit_code(arguments.allow_skipped))
}

/// Prints a file as soon as it is recorded: it stays applied if a later one fails.
fn print_applied_file(path: &str) {
    // A reader that has gone does not end the command between two files.
    let _ = writeln!(std::io::stdout(), "applied {path}");
}

fn to_json(applied: &AppliedFiles, report: &ProjectReport) -> Value {
    let AppliedFiles { ran, completed, changed_migrations, changed_seeds, missing_versions, .. } = applied;
    let completed: Vec<Value> = completed
        .iter()
        .map(|CompletedFile { path, statements }| json!({ "file": path, "statements": statements }))
        .collect();
    json!({
        "applied": ran,
        "completed": completed,
        "changed_migrations": changed_migrations,
        "changed_seeds": changed_seeds,
        "missing_versions": missing_versions,
        "skipped": report.list_skipped(),
    })
}

async fn migrate(project: &Project, arguments: &MigrateArguments) -> anyhow::Result<(AppliedFiles, ProjectReport)> {
    let mut files = SchemaFiles::read(project)?;
    let mut config = read_settings(project)?;
    let database = ProjectDatabase::open(project, arguments.database_url.as_deref(), &mut config).await?;
    let is_external = database.target == TargetDatabase::External;
    let settings = DatabaseSettings { url: Secret::from(database.url.as_str()), ..config.database.clone() };
    if is_external {
        // Roles and test data are of the operator.
        let ProjectSchema { migrations, seeds, .. } = std::mem::take(&mut files.schema);
        let seeds = if arguments.include_seed { seeds } else { Vec::new() };
        files.schema = ProjectSchema { migrations, seeds, ..ProjectSchema::default() };
        refuse_transaction_pooler(&settings).await?;
    }
    let options = ApplyOptions {
        target: database.target,
        before: if arguments.retry_skipped { SkippedBefore::Retry } else { SkippedBefore::IfChanged },
        older: if arguments.include_all { OlderMigrations::Apply } else { OlderMigrations::Refuse },
        on_applied: if arguments.json { |_| () } else { print_applied_file },
    };
    let mut applied = apply_files(&files, &database.url, &config.database, &config.policy.hooks, options).await;
    if applied.is_ok() && !is_external {
        applied = write_secrets(project, &database.url, &config.database).await.and(applied);
    }
    if is_external
        && applied.as_ref().is_ok_and(|(applied, _)| !(applied.ran.is_empty() && applied.completed.is_empty()))
        && let Err(error) = notify_data_apis(&settings).await
    {
        tracing::warn!(error = %format!("{error:#}"), "data APIs on the database may not know the new schema: run NOTIFY pgrst, 'reload schema'");
    }
    if applied.is_ok()
        && let Some(line) = describe_unprotected_tables(project, &database.url, &config.database).await
    {
        eprintln!("{line}");
    }
    database.close().await?;
    applied
}

/// Tells data APIs on a database to read its schema anew. In the embedded one an event trigger does.
async fn notify_data_apis(settings: &DatabaseSettings) -> anyhow::Result<()> {
    let pool = database::build_migration_pool(settings).await?;
    let mut connection = acquire_connection(&pool).await?;
    sqlx::raw_sql("NOTIFY pgrst, 'reload schema'").execute(&mut *connection).await?;
    drop(connection.close().await);
    Ok(())
}

/// Refuses a pooler that gives a connection another session for each transaction: the lock of the files is one of the session.
///
/// Such a pooler lets two open connections share a session, or changes that of one.
///
/// # Errors
/// The database cannot be reached, or a pooler in transaction mode is in between.
pub(super) async fn refuse_transaction_pooler(settings: &DatabaseSettings) -> anyhow::Result<()> {
    let doing = "connecting to the database";
    let pools = [database::build_migration_pool(settings).await?, database::build_migration_pool(settings).await?];
    let mut connections =
        [acquire_connection(&pools[0]).await.context(doing)?, acquire_connection(&pools[1]).await.context(doing)?];
    let mut sessions = [BTreeSet::new(), BTreeSet::new()];
    for _ in 0..POOLER_PROBES {
        for (connection, seen) in connections.iter_mut().zip(&mut sessions) {
            let row = sqlx::raw_sql("SELECT pg_catalog.pg_backend_pid()").fetch_one(&mut **connection).await;
            seen.insert(row.and_then(|row| row.try_get::<i32, _>(0)).context("asking for the session")?);
        }
    }
    for connection in connections {
        drop(connection.close().await);
    }
    let [first, second] = &sessions;
    ensure!(
        first.len() == 1 && second.len() == 1 && first.is_disjoint(second),
        "nothing was changed: the URL is that of a connection pooler in transaction mode, behind which two commands at once do not see \
         each other. Use the URL of the database itself (at Supabase: the direct connection), or of a pooler in session mode"
    );
    Ok(())
}
