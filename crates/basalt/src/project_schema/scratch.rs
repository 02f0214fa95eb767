//! Applies the files of a project to a database that is removed afterwards, to find the statements that would be skipped.

use anyhow::Context;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rules::domain::policy::HooksPolicy;

use super::{ProjectReport, SchemaFiles};
use crate::data_folder::DataFolder;
use crate::embedded_postgres::{StartError, TcpPort};
use crate::project::Project;
use crate::serve::{DatabaseOptions, find_database};

/// The result of applying a project to a scratch database.
pub(crate) enum ScratchOutcome {
    /// It was applied.
    Applied(ProjectReport),
    /// There is nothing to apply.
    NoFiles,
    /// There is no PostgreSQL on this machine.
    NoPostgres,
}

/// Applies the files of a project to a new database, which is removed.
///
/// # Errors
/// The database does not start, or the files cannot be read or ordered.
pub(crate) async fn try_project(project: &Project, hooks: &HooksPolicy) -> anyhow::Result<ScratchOutcome> {
    if !SchemaFiles::read(project)?.is_any() {
        return Ok(ScratchOutcome::NoFiles);
    }
    let folder = DataFolder::open_ephemeral(&Entropy::from_system().base32(12))?;
    let options = DatabaseOptions { ephemeral: true, url: None, port: TcpPort::None };
    let started = tokio::task::spawn_blocking(find_database(project, &folder, options));
    let source = match started.await.context("starting the scratch database")? {
        Ok(source) => source,
        Err(error) if matches!(error.downcast_ref(), Some(StartError::NoBinaries(_))) => {
            return Ok(ScratchOutcome::NoPostgres);
        }
        Err(error) => return Err(error).context("starting the scratch database"),
    };
    let settings = DatabaseSettings::default();
    let outcome = match source.migrate(&settings, true).await {
        Ok(()) => super::apply(project, &source.operator_url(), &settings, hooks).await,
        Err(error) => Err(error),
    };
    tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the scratch database")?;
    outcome.map(|(_, report)| ScratchOutcome::Applied(report))
}
