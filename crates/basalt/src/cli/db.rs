//! `basalt db`: commands for whole databases.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::store::migrate::AppliedFiles;

use super::db_anonymise::{self, ANONYMISE_HELP};
use super::db_upgrade::{self, UPGRADE_HELP};
use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::data_folder::DataFolder;
use crate::embedded_postgres::{EmbeddedPostgres, TcpPort};
use crate::project::{Project, ProjectArguments};
use crate::project_schema::{INCOMPLETE_STATUS, ProjectReport};
use crate::serve::{DatabaseOptions, find_database};
use crate::{api_keys, logging, project_schema};

/// The arguments of `basalt db`.
#[derive(Debug, Args)]
pub(super) struct DbArguments {
    #[command(subcommand)]
    action: DbAction,
}

#[derive(Debug, Subcommand)]
enum DbAction {
    /// Delete the embedded database with all its data, and create it again from migrations and seed files
    ///
    /// The keys are kept. A server that uses the database must be stopped first.
    Reset(ProjectArguments),
    /// Move the embedded database to the newest major release of PostgreSQL on this machine
    #[command(long_about = UPGRADE_HELP)]
    Upgrade(db_upgrade::UpgradeArguments),
    /// Replace personal data in a copy of a database by pseudonyms, and remove tokens and secrets
    #[command(long_about = ANONYMISE_HELP)]
    Anonymise(db_anonymise::AnonymiseArguments),
}

/// Runs a command for a database.
pub(super) fn run(arguments: &DbArguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        DbAction::Reset(project) => run_reset(project),
        DbAction::Upgrade(arguments) => db_upgrade::run(arguments).map(|()| ExitCode::SUCCESS),
        DbAction::Anonymise(arguments) => db_anonymise::run(arguments).map(|()| ExitCode::SUCCESS),
    }
}

fn run_reset(project: &ProjectArguments) -> anyhow::Result<ExitCode> {
    let project = Project::load(project)?;
    logging::start("warn", LogFormat::Text, None)?;
    if project.database_url()?.is_some() {
        bail!(
            "DATABASE_URL names an external database, which this command does not change: unset it to reset the embedded one"
        );
    }
    let (applied, report) = build_runtime()?.block_on(reset(&project))?;
    let count = applied.ran.len();
    writeln!(std::io::stdout(), "The database was recreated; {count} files of the project were applied to it.")?;
    write!(std::io::stderr(), "{}", report.to_text())?;
    Ok(if report.is_incomplete() { ExitCode::from(INCOMPLETE_STATUS) } else { ExitCode::SUCCESS })
}

/// Recreates the database.
async fn reset(project: &Project) -> anyhow::Result<(AppliedFiles, ProjectReport)> {
    // Problems of configuration and files are found before anything is deleted.
    let keys = api_keys::combine(None, &project.configured_keys(), &Entropy::from_system(), SystemClock.now())?;
    let mut config = project.settings(&project.local_url(project.file.port()), &keys)?;
    project_schema::SchemaFiles::read(project)?;
    // The lock of the folder is held by a running server.
    let folder = DataFolder::open(&project.data)?;
    EmbeddedPostgres::remove(folder.path())?;
    let wanted = DatabaseOptions { ephemeral: false, url: None, port: TcpPort::None };
    let source = tokio::task::spawn_blocking(find_database(project, &folder, wanted));
    let source = source.await.context("starting the database")??;
    let outcome = match source.open(&mut config, None).await {
        Ok(pool) => {
            let applied = {
                let hooks = &config.policy.hooks;
                project_schema::apply(project, &source.operator_url(), &config.database, hooks).await
            };
            pool.close().await;
            applied
        }
        Err(error) => Err(error),
    };
    tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
    outcome
}
