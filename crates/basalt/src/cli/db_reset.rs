//! `basalt db reset`: a new embedded database from migrations and seed files.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use gotrue_rs::config::{Config, DatabaseSettings};
use gotrue_rules::domain::secret::Secret;
use platform::store::migrate::AppliedFiles;
use sqlx::{AssertSqlSafe, PgPool};

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::confirmation::confirm;
use crate::data_folder::DataFolder;
use crate::embedded_postgres::EmbeddedPostgres;
use crate::project::{Project, ProjectArguments};
use crate::project_database::{ProjectDatabase, read_settings};
use crate::project_schema::{INCOMPLETE_STATUS, ProjectReport};
use crate::{database, logging, project_schema};

/// The long help of the command.
pub(super) const RESET_HELP: &str =
    "Delete the embedded database with all its data, and create it again from migrations and seed files

The keys are kept, and what `basalt db upgrade` has kept. A server that uses the database must be stopped first. The
command asks before it deletes accounts, orders, submissions, messages that wait or objects of the storage, and says how many, or a
database in another data folder than .basalt.";

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
    writeln!(std::io::stdout(), "The database was recreated; {count} files of the project were applied to it.")?;
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
    if !is_confirmed && EmbeddedPostgres::find_cluster(folder.path()).is_some() {
        let (contents, locked) = Box::pin(list_contents(project, folder, config.clone())).await?;
        ask(project, contents.as_deref())?;
        folder = locked;
    }
    EmbeddedPostgres::remove(folder.path())?;
    let database = Box::pin(ProjectDatabase::start(project, folder, &mut config)).await?;
    let applied = project_schema::apply(project, &database.url, &config.database, &config.policy.hooks).await;
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

/// Returns what the database contains, or `None` if it cannot be used, with the locked folder.
async fn list_contents(
    project: &Project,
    folder: DataFolder,
    mut config: Config,
) -> anyhow::Result<(Option<Vec<String>>, DataFolder)> {
    let (contents, folder) = match Box::pin(ProjectDatabase::start(project, folder, &mut config)).await {
        Ok(database) => {
            let contents = read_contents(&database.url).await;
            (contents, database.close().await?)
        }
        Err(error) => (Err(error), None),
    };
    let folder = folder.map_or_else(|| DataFolder::open(&project.data), Ok)?;
    let contents =
        contents.inspect_err(|error| tracing::warn!(error = %format!("{error:#}"), "counting the contents failed"));
    Ok((contents.ok(), folder))
}

/// Counts the rows that no file of the project creates again.
async fn read_contents(url: &str) -> anyhow::Result<Vec<String>> {
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
    outcome.context("counting the contents").map(|()| found)
}

/// Returns the number of rows of a table that meet a condition; 0 if it does not exist.
async fn count_rows(pool: &PgPool, table: &'static str, condition: &'static str) -> sqlx::Result<i64> {
    let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(table).fetch_one(pool).await?;
    if !exists {
        return Ok(0);
    }
    sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) FROM {table} WHERE {condition}"))).fetch_one(pool).await
}
