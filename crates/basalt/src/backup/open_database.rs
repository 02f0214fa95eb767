//! A superuser's session on the embedded database, which is started if no server runs.

use anyhow::{Context, bail};
use data_folder::DataFolder;
use embedded_postgres::backup::BackupSession;
use embedded_postgres::{EmbeddedPostgres, TcpPort};
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;

use crate::announce::RunningServer;
use crate::database;
use crate::database_source::{DatabaseOptions, DatabaseSource, find_database};
use crate::project::Project;

/// The embedded database of a project.
pub(super) struct OpenDatabase {
    pub session: BackupSession,
    /// The database that was started for the command, and its folder.
    started: Option<(DatabaseSource, DataFolder)>,
}

impl OpenDatabase {
    /// Connects to the embedded database of the running server, or starts it.
    pub(super) async fn open(project: &Project) -> anyhow::Result<Self> {
        refuse_external(project)?;
        if EmbeddedPostgres::find_cluster(&project.data).is_none() {
            bail!(
                "{} has no embedded database: nothing was started yet with this folder, or the server uses DATABASE_URL, \
                 whose database its own tools back up",
                project.data.display()
            );
        }
        if let Some(running) = RunningServer::read(&project.data) {
            return Ok(Self { session: connect(&running.database_url)?, started: None });
        }
        let folder = DataFolder::open(&project.data)?;
        Self::start(project, folder).await
    }

    /// Starts the database of a locked folder.
    pub(super) async fn start(project: &Project, folder: DataFolder) -> anyhow::Result<Self> {
        let wanted = DatabaseOptions { ephemeral: false, url: None, port: TcpPort::None };
        let source = tokio::task::spawn_blocking(find_database(project, &folder, wanted));
        let source = source.await.context("starting the database")??;
        let session = connect(&source.operator_url())?;
        Ok(Self { session, started: Some((source, folder)) })
    }

    /// Ends the session, and stops the database if it was started; returns its folder in that case.
    pub(super) async fn close(self) -> anyhow::Result<Option<DataFolder>> {
        self.session.close().await;
        let Some((source, folder)) = self.started else { return Ok(None) };
        tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
        Ok(Some(folder))
    }
}

/// Refuses a project whose database is not the embedded one.
pub(super) fn refuse_external(project: &Project) -> anyhow::Result<()> {
    if project.vars.get("DATABASE_URL").is_some_and(|url| !url.is_empty()) {
        bail!(
            "DATABASE_URL names an external database, which this command neither reads nor changes: back it up with its own \
             tools (docs/guides/backup.md), or unset DATABASE_URL for the embedded one"
        );
    }
    Ok(())
}

/// Opens a session as the role of this URL.
pub(crate) fn connect(url: &str) -> anyhow::Result<BackupSession> {
    let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
    Ok(BackupSession::new(database::build_session_pool(&settings)?))
}
