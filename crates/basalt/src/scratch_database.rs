//! Applies the files of a project to a database that is removed afterwards, to find the statements that would be skipped.

use anyhow::Context;
use data_folder::DataFolder;
use embedded_postgres::{StartError, TcpPort};
use gotrue_rs::config::DatabaseSettings;
use gotrue_rules::domain::policy::HooksPolicy;
use platform::entropy::Entropy;

use crate::database_source::{DatabaseOptions, DatabaseSource, find_database};
use crate::project::Project;
use crate::project_schema::{self, ProjectReport, SchemaFiles};
use crate::row_security::describe_unprotected_tables;

/// What applying the files of a project to a scratch database showed.
pub(crate) struct TriedFiles {
    pub report: ProjectReport,
    /// A line about tables without row level security, if there are some.
    pub unprotected_tables: Option<String>,
}

/// The result of applying a project to a scratch database.
pub(crate) enum ScratchOutcome {
    /// It was applied.
    Applied(TriedFiles),
    /// There is nothing to apply.
    NoFiles,
    /// There is no PostgreSQL on this machine.
    NoPostgres,
}

/// A new embedded database with the files of a project, removed when it is stopped.
pub(crate) struct ScratchDatabase {
    source: DatabaseSource,
    folder: DataFolder,
}

impl ScratchDatabase {
    /// Starts a database with roles and schemas and without the files of the project; `None` if there is no PostgreSQL.
    ///
    /// # Errors
    /// The database does not start.
    pub(crate) async fn start(project: &Project) -> anyhow::Result<Option<Self>> {
        let folder = DataFolder::open_ephemeral(&Entropy::from_system().base32(12))?;
        let options = DatabaseOptions { ephemeral: true, url: None, port: TcpPort::None };
        let started = tokio::task::spawn_blocking(find_database(project, &folder, options));
        let source = match started.await.context("starting the scratch database")? {
            Ok(source) => source,
            Err(error) if matches!(error.downcast_ref(), Some(StartError::NoBinaries(_))) => return Ok(None),
            Err(error) => return Err(error).context("starting the scratch database"),
        };
        let scratch = Self { source, folder };
        match scratch.source.migrate(&DatabaseSettings::default(), true).await {
            Ok(()) => Ok(Some(scratch)),
            Err(error) => {
                scratch.stop().await?;
                Err(error)
            }
        }
    }

    /// Returns the URL of the superuser.
    pub(crate) fn url(&self) -> String {
        self.source.operator_url()
    }

    /// Stops and removes the database.
    ///
    /// # Errors
    /// The thread that stops it failed.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        let Self { source, folder } = self;
        let stopped = tokio::task::spawn_blocking(move || source.stop()).await;
        drop(folder);
        stopped.context("stopping the scratch database")
    }
}

/// Applies the files of a project to a new database, which is removed.
///
/// # Errors
/// The database does not start, or the files cannot be read or ordered.
pub(crate) async fn try_project(project: &Project, hooks: &HooksPolicy) -> anyhow::Result<ScratchOutcome> {
    if !SchemaFiles::read(project)?.is_any() {
        return Ok(ScratchOutcome::NoFiles);
    }
    let Some(scratch) = ScratchDatabase::start(project).await? else { return Ok(ScratchOutcome::NoPostgres) };
    let settings = DatabaseSettings::default();
    let outcome = project_schema::apply(project, &scratch.url(), &settings, hooks).await;
    let unprotected_tables = describe_unprotected_tables(project, &scratch.url(), &settings).await;
    scratch.stop().await?;
    let (_, report) = outcome?;
    Ok(ScratchOutcome::Applied(TriedFiles { report, unprotected_tables }))
}
