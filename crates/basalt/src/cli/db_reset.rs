//! `basalt db reset`: a new embedded database from migrations and seed files.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use gotrue_rs::config::{Config, DatabaseSettings};
use gotrue_rules::domain::secret::Secret;
use platform::store::migrate::AppliedFiles;

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
command asks before it deletes accounts, or a database in another data folder than .basalt.";

const EXAMPLES: &str = "Examples:
  basalt db reset
  basalt db reset --yes                     delete accounts, too, without a question";

/// The name of the default data folder.
const DEFAULT_FOLDER: &str = ".basalt";

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
        let (accounts, locked) = Box::pin(count_accounts(project, folder, config.clone())).await?;
        ask(project, accounts)?;
        folder = locked;
    }
    EmbeddedPostgres::remove(folder.path())?;
    let database = Box::pin(ProjectDatabase::start(project, folder, &mut config)).await?;
    let applied = project_schema::apply(project, &database.url, &config.database, &config.policy.hooks).await;
    database.close().await?;
    applied
}

/// Asks whether the database may be deleted, unless nothing would be missed.
fn ask(project: &Project, accounts: Option<i64>) -> anyhow::Result<()> {
    let folder = project.data.display();
    let contents = match accounts {
        Some(0) if project.data.file_name().is_some_and(|name| name == DEFAULT_FOLDER) => return Ok(()),
        Some(0) => String::new(),
        Some(1) => " with an account".to_owned(),
        Some(count) => format!(" with {count} accounts"),
        None => ", whose accounts cannot be counted,".to_owned(),
    };
    let question = format!("Delete the database of {folder}{contents} and all its data for good?");
    confirm(false, &question, &format!("the database of {folder}{contents} was not deleted"))
}

/// Returns the number of accounts, or `None` if the database cannot be used, with the locked folder.
async fn count_accounts(
    project: &Project,
    folder: DataFolder,
    mut config: Config,
) -> anyhow::Result<(Option<i64>, DataFolder)> {
    let (count, folder) = match Box::pin(ProjectDatabase::start(project, folder, &mut config)).await {
        Ok(database) => {
            let count = read_count(&database.url).await;
            (count, database.close().await?)
        }
        Err(error) => (Err(error), None),
    };
    let folder = folder.map_or_else(|| DataFolder::open(&project.data), Ok)?;
    let count =
        count.inspect_err(|error| tracing::warn!(error = %format!("{error:#}"), "counting the accounts failed"));
    Ok((count.ok(), folder))
}

async fn read_count(url: &str) -> anyhow::Result<i64> {
    let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&settings).await?;
    let count = sqlx::query_scalar("SELECT count(*) FROM auth.users").fetch_one(&pool).await;
    pool.close().await;
    count.context("counting the accounts")
}
