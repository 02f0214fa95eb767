//! The database of a project for one command: a URL that was given, that of the running server, or the stopped embedded one.

use anyhow::{Context, bail};
use data_folder::DataFolder;
use embedded_postgres::TcpPort;
use gotrue_rs::config::Config;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use platform::store::migrate::TargetDatabase;

use crate::announce::RunningServer;
use crate::api_keys;
use crate::database_source::{DatabaseOptions, DatabaseSource, find_database};
use crate::project::Project;

/// A database that accepts connections until it is closed.
pub(crate) struct ProjectDatabase {
    /// Its URL; that of the superuser if it is embedded.
    pub url: String,
    /// Whose it is.
    pub target: TargetDatabase,
    /// The database that was started for the command, and its folder.
    started: Option<(DatabaseSource, DataFolder)>,
}

impl ProjectDatabase {
    /// Finds the database of `given`, of the running server, or starts the embedded one with its schemas, in this order.
    ///
    /// # Errors
    /// It does not start, or only the environment names an external database: the command line has to name it.
    pub(crate) async fn open(project: &Project, given: Option<&str>, config: &mut Config) -> anyhow::Result<Self> {
        if let Some(url) = given.filter(|url| !url.is_empty()) {
            return Ok(Self { url: url.to_owned(), target: TargetDatabase::External, started: None });
        }
        let running = RunningServer::read(&project.data);
        let is_external = running.as_ref().is_some_and(|running| !running.has_embedded_database);
        if is_external || project.database_url()?.is_some() {
            bail!("the database of this project is an external one: name it with --database-url");
        }
        if let Some(running) = running {
            return Ok(Self { url: running.database_url, target: TargetDatabase::Embedded, started: None });
        }
        // The lock of the folder is held by a server that is starting or stopping.
        let folder = DataFolder::open(&project.data)?;
        Box::pin(Self::start(project, folder, config)).await
    }

    /// Starts the embedded database of a locked data folder, and creates what it lacks of roles and schemas.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) async fn start(project: &Project, folder: DataFolder, config: &mut Config) -> anyhow::Result<Self> {
        let wanted = DatabaseOptions { ephemeral: false, url: None, port: TcpPort::None };
        let source = tokio::task::spawn_blocking(find_database(project, &folder, wanted));
        let source = source.await.context("starting the database")??;
        let url = source.operator_url();
        let opened = source.open(config, None).await;
        let database = Self { url, target: TargetDatabase::Embedded, started: Some((source, folder)) };
        match opened {
            Ok(pool) => {
                pool.close().await;
                Ok(database)
            }
            Err(error) => {
                database.close().await?;
                Err(error)
            }
        }
    }

    /// Stops the database if it was started for the command; returns its folder, which is still locked.
    ///
    /// # Errors
    /// The thread that stops it failed.
    pub(crate) async fn close(self) -> anyhow::Result<Option<DataFolder>> {
        let Some((source, folder)) = self.started else { return Ok(None) };
        tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
        Ok(Some(folder))
    }
}

/// Returns the settings of a project for a command without requests, which needs no stored keys.
///
/// # Errors
/// The configuration is invalid.
pub(crate) fn read_settings(project: &Project) -> anyhow::Result<Config> {
    let keys = api_keys::combine(None, &project.configured_keys(), &Entropy::from_system(), SystemClock.now())?;
    project.settings(&project.local_url(project.file.port()), &keys)
}
