//! `basalt db reset`: a new embedded database from migrations and seed files.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use data_folder::DataFolder;
use embedded_postgres::EmbeddedPostgres;
use foundation::secret::Secret;
use gotrue_rs::config::{Config, DatabaseSettings};
use platform::store::migrate::AppliedFiles;
use sqlx::{AssertSqlSafe, PgPool};

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::confirmation::confirm;
use crate::plural::format_count;
use crate::project::{Project, ProjectArguments};
use crate::project_database::{ProjectDatabase, read_settings};
use crate::project_schema::{INCOMPLETE_STATUS, ProjectReport};
use crate::schema_difference::list_tables;
use crate::scratch_database::ScratchDatabase;
use crate::{database, logging, project_schema};

/// The long help of the command.
pub(super) const RESET_HELP: &str =
    "Delete the embedded database with all its data, and create it again from migrations and seed files

The keys are kept, with what `basalt keys` has changed, and what `basalt db upgrade` has kept. A server that uses the database
must be stopped first. The command asks before it deletes accounts, orders, submissions, messages that wait, objects of the
storage or rows of the project's own tables that its files do not make again, and says how many, or a database in another data
folder than .basalt.";

const EXAMPLES: &str = "Examples:
  basalt db reset
  basalt db reset --yes                     delete accounts, too, without a question";

/// The name of the default data folder.
const DEFAULT_FOLDER: &str = ".basalt";

/// The tables with data of users, which rows count, what one is, and what several are.
const CONTENTS: [(&str, &str, &str, &str); 6] = [
    ("auth.users", "true", "an account", "accounts"),
    ("basalt.orders", "true", "an order", "orders"),
    ("basalt.submissions", "true", "a submission", "submissions"),
    ("basalt.submission_messages", "true", "a message about submissions", "messages about submissions"),
    ("basalt.outbox", "sent_at IS NULL AND failed_at IS NULL", "a message that waits", "messages that wait"),
    ("storage.objects", "true", "a stored object", "stored objects"),
];

/// A stored key set of `basalt keys`: name, version and sealed keys.
type StoredKeySet = (String, i64, String);

/// What a database has before it is deleted.
#[derive(Debug, Default)]
struct Found {
    /// What would be missed; `None` if it cannot be counted.
    contents: Option<Vec<String>>,
    /// The key sets of `basalt keys`; `None` if they cannot be read.
    key_sets: Option<Vec<StoredKeySet>>,
}

/// The most tables that are named.
const MAX_NAMED_TABLES: usize = 5;

/// The arguments of `basalt db reset`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ResetArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

/// Recreates the database and prints what was applied to it.
pub(super) fn run(arguments: &ResetArguments) -> anyhow::Result<ExitCode> {
    let project = Project::load(&arguments.project)?;
    logging::start("warn", LogFormat::Text, None)?;
    if project.database_url()?.is_some() {
        bail!(
            "DATABASE_URL names an external database, which this command does not change: unset it to reset the embedded one"
        );
    }
    let (applied, report) = build_runtime()?.block_on(Box::pin(reset(&project, arguments.yes)))?;
    let count = applied.ran.len();
    let files = format_count(count, "file");
    writeln!(std::io::stdout(), "The database was recreated, and {files} of the project applied to it.")?;
    write!(std::io::stderr(), "{}", report.to_text())?;
    Ok(if report.is_incomplete() { ExitCode::from(INCOMPLETE_STATUS) } else { ExitCode::SUCCESS })
}

/// Recreates the database.
async fn reset(project: &Project, is_confirmed: bool) -> anyhow::Result<(AppliedFiles, ProjectReport)> {
    // Problems of configuration and files are found before anything is deleted.
    let mut config = read_settings(project)?;
    project_schema::SchemaFiles::read(project)?;
    // The lock of the folder is held by a running server.
    let mut folder = DataFolder::open(&project.data)?;
    let mut key_sets = Vec::new();
    if EmbeddedPostgres::find_cluster(folder.path()).is_some() {
        let (found, locked) = Box::pin(inspect(project, folder, config.clone(), !is_confirmed)).await?;
        if !is_confirmed {
            ask(project, found.contents.as_deref())?;
        }
        if found.key_sets.is_none() {
            tracing::warn!(
                "the keys of `basalt keys` cannot be read and are deleted with the database: the keys of the configuration are \
                 accepted again, retired ones included"
            );
        }
        key_sets = found.key_sets.unwrap_or_default();
        folder = locked;
    }
    EmbeddedPostgres::remove(folder.path())?;
    let database = Box::pin(ProjectDatabase::start(project, folder, &mut config)).await?;
    let kept = write_key_sets(&database.url, &key_sets).await.context(
        "the keys of `basalt keys` were not kept: the keys of the configuration are accepted again, retired ones included",
    );
    let applied = match kept {
        Ok(()) => project_schema::apply(project, &database.url, &config.database, &config.policy.hooks).await,
        Err(error) => Err(error),
    };
    database.close().await?;
    applied
}

/// Asks whether the database may be deleted, unless nothing would be missed.
fn ask(project: &Project, contents: Option<&[String]>) -> anyhow::Result<()> {
    let folder = project.data.display();
    let contents = match contents {
        Some([]) if project.data.file_name().is_some_and(|name| name == DEFAULT_FOLDER) => return Ok(()),
        Some([]) => String::new(),
        Some([one]) => format!(" with {one}"),
        Some([several @ .., last]) => format!(" with {} and {last}", several.join(", ")),
        None => ", whose contents cannot be counted,".to_owned(),
    };
    let question = format!("Delete the database of {folder}{contents} and all its data for good?");
    confirm(false, &question, &format!("the database of {folder}{contents} was not deleted"))
}

/// Returns what the database has, with the locked folder; nothing if it cannot be used. Its contents are counted if they are
/// asked for.
async fn inspect(
    project: &Project,
    folder: DataFolder,
    mut config: Config,
    counts: bool,
) -> anyhow::Result<(Found, DataFolder)> {
    let warn = |error: &anyhow::Error| tracing::warn!(error = %format!("{error:#}"), "reading the database failed");
    let mut found = Found::default();
    let folder = match Box::pin(ProjectDatabase::start(project, folder, &mut config)).await {
        Ok(database) => {
            if counts {
                found.contents = read_contents(project, &config, &database.url).await.inspect_err(warn).ok();
            }
            found.key_sets = read_key_sets(&database.url).await.inspect_err(warn).ok();
            database.close().await?
        }
        Err(error) => {
            warn(&error);
            None
        }
    };
    let folder = folder.map_or_else(|| DataFolder::open(&project.data), Ok)?;
    Ok((found, folder))
}

/// Reads the key sets of `basalt keys`.
async fn read_key_sets(url: &str) -> anyhow::Result<Vec<StoredKeySet>> {
    let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&settings).await?;
    let read = sqlx::query_as("SELECT name, version, sealed FROM basalt.key_sets").persistent(false);
    let key_sets = read.fetch_all(&pool).await.context("reading basalt.key_sets");
    pool.close().await;
    key_sets
}

/// Writes the key sets of `basalt keys` into a new database.
async fn write_key_sets(url: &str, key_sets: &[StoredKeySet]) -> anyhow::Result<()> {
    const INSERT: &str = "INSERT INTO basalt.key_sets (name, version, sealed) VALUES ($1, $2, $3)";
    if key_sets.is_empty() {
        return Ok(());
    }
    let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&settings).await?;
    let mut outcome = Ok(());
    for (name, version, sealed) in key_sets {
        let insert = sqlx::query(INSERT).persistent(false).bind(name).bind(version).bind(sealed);
        outcome = outcome.and(insert.execute(&pool).await.map(drop));
    }
    pool.close().await;
    outcome.context("writing basalt.key_sets")
}

/// Counts what would be missed.
async fn read_contents(project: &Project, config: &Config, url: &str) -> anyhow::Result<Vec<String>> {
    let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&settings).await?;
    let mut found = Vec::new();
    let mut outcome = Ok(());
    for (table, condition, one, several) in CONTENTS {
        match count_rows(&pool, table, condition).await {
            Ok(0) => {}
            Ok(1) => found.push(one.to_owned()),
            Ok(count) => found.push(format!("{count} {several}")),
            Err(error) => outcome = Err(error),
        }
    }
    pool.close().await;
    outcome.context("counting the contents")?;
    let own = count_own_rows(url).await.context("counting the rows of the project's tables")?;
    let lost = if own.is_empty() { own } else { subtract_made_again(own, project, config).await? };
    found.extend(describe_own_rows(&lost));
    Ok(found)
}

/// Returns the number of rows of a table that meet a condition; 0 if it does not exist.
async fn count_rows(pool: &PgPool, table: &str, condition: &str) -> sqlx::Result<i64> {
    let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(table).fetch_one(pool).await?;
    if !exists {
        return Ok(0);
    }
    sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) FROM ONLY {table} WHERE {condition}")))
        .fetch_one(pool)
        .await
}

/// Counts the rows of each of the project's own tables that has some.
async fn count_own_rows(url: &str) -> anyhow::Result<BTreeMap<String, i64>> {
    let tables = list_tables(url).await?;
    let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&settings).await?;
    let counts = count_rows_of(&pool, tables).await;
    pool.close().await;
    Ok(counts?)
}

async fn count_rows_of(pool: &PgPool, tables: Vec<String>) -> sqlx::Result<BTreeMap<String, i64>> {
    let mut counts = BTreeMap::new();
    for table in tables {
        let count = count_rows(pool, &table, "true").await?;
        if count > 0 {
            counts.insert(table, count);
        }
    }
    Ok(counts)
}

/// Subtracts the rows that migrations and seed files make in a scratch database.
async fn subtract_made_again(
    mut counts: BTreeMap<String, i64>,
    project: &Project,
    config: &Config,
) -> anyhow::Result<BTreeMap<String, i64>> {
    let Some(scratch) = ScratchDatabase::start(project).await? else { return Ok(counts) };
    let made = count_made(project, config, &scratch.url()).await;
    scratch.stop().await?;
    for (table, count) in made? {
        if let Some(rows) = counts.get_mut(&table) {
            *rows -= count;
        }
    }
    counts.retain(|_, rows| *rows > 0);
    Ok(counts)
}

async fn count_made(project: &Project, config: &Config, url: &str) -> anyhow::Result<BTreeMap<String, i64>> {
    project_schema::apply(project, url, &config.database, &config.policy.hooks).await?;
    count_own_rows(url).await.context("counting the rows of the scratch database")
}

/// Describes rows that would be lost, those of the largest tables first.
fn describe_own_rows(lost: &BTreeMap<String, i64>) -> Option<String> {
    let sum: i64 = lost.values().sum();
    let mut tables: Vec<(&String, &i64)> = lost.iter().collect();
    tables.sort_by_key(|(table, count)| (std::cmp::Reverse(**count), *table));
    let named = tables.iter().take(MAX_NAMED_TABLES).map(|(table, count)| format!("{table}: {count}"));
    let more = tables.len().checked_sub(MAX_NAMED_TABLES).filter(|more| *more > 0);
    let parts: Vec<String> = named.chain(more.map(|more| format_count(more, "more table"))).collect();
    let rows = format_count(sum, "row");
    (sum > 0).then(|| format!("{rows} that the files of the project do not make ({})", parts.join(", ")))
}
