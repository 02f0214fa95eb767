//! The database of a project: the operator's, or an embedded one.

pub(crate) mod schemas;

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::bail;
use data_folder::DataFolder;
use embedded_postgres::{
    BinarySearch, ConnectionAddress, EmbeddedOptions, EmbeddedPostgres, PreparedClusters, TcpPort, WalSegments,
};
use foundation::secret::Secret;
use gotrue_rs::config::{Config, DatabaseSettings};
use gotrue_rs::store::migrate;
use platform::store::Pool;
use platform::store::migrate::list_needed_extensions;
use tokio::runtime::Handle;

use self::schemas::{ROLE, create_roles, create_template, migrate_schemas, set_superuser_password};
use crate::database;
use crate::project::Project;
use crate::project_schema::{self, SchemaFiles};
use http_edge::ShutdownSignal;

/// The database in use.
pub(crate) enum DatabaseSource {
    /// The operator's database, identified by its URL and managed externally.
    External(String),
    /// The embedded database, started and stopped with this process.
    Embedded(Box<EmbeddedPostgres>),
}

/// How to find the database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DatabaseOptions<'a> {
    /// Whether the data is discarded at the end.
    ///
    /// Such a database is never one that only the environment names, because that one holds an application's tables.
    pub ephemeral: bool,
    /// The URL of an external database; takes precedence over the environment.
    pub url: Option<&'a str>,
    /// The TCP port of the embedded database.
    pub port: TcpPort,
}

/// Returns a function that connects to the given database or starts the embedded one.
///
/// It blocks and must run on a blocking thread of a runtime.
pub(crate) fn find_database(
    project: &Project,
    folder: &DataFolder,
    wanted: DatabaseOptions<'_>,
) -> impl FnOnce() -> anyhow::Result<DatabaseSource> + use<> {
    let variable = |name: &str| project.vars.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    let given = match wanted.url.filter(|url| !url.is_empty()) {
        Some(url) => Ok(Some(url.to_owned())),
        None if wanted.ephemeral => Ok(None),
        None => project.database_url(),
    };
    let search = find_binaries(project);
    let locate = || PreparedClusters::locate(&variable, migrate::schema_fingerprint(), Arc::new(create_schemas));
    let options = EmbeddedOptions {
        data: folder.path().to_owned(),
        search,
        ephemeral: wanted.ephemeral,
        flushed_at_end: false,
        port: wanted.port,
        wal_segments: WalSegments::Default,
        prepared: wanted.ephemeral.then(locate).flatten(),
    };
    move || {
        if let Some(url) = given? {
            return Ok(DatabaseSource::External(url));
        }
        let postgres = EmbeddedPostgres::start(&options)?;
        tracing::debug!(folder = %postgres.folder().display(), origin = %postgres.origin(), "started PostgreSQL");
        Ok(DatabaseSource::Embedded(Box::new(postgres)))
    }
}

/// Names the places of PostgreSQL's programs.
pub(crate) fn find_binaries(project: &Project) -> BinarySearch {
    let variable = |name: &str| project.vars.get(name).filter(|value| !value.is_empty()).map(Into::into);
    BinarySearch {
        bin_dir: variable("PG_BIN_DIR").map(|path: OsString| path.into()),
        path: variable("PATH"),
        executable: std::env::current_exe().ok(),
        folder: std::env::current_dir().ok(),
        // A file that cannot be read is reported where the files are applied.
        extensions: SchemaFiles::read(project).map(|files| list_needed_extensions(&files.schema)).unwrap_or_default(),
    }
}

/// Creates the roles and schemas of the embedded database at an address that do not exist yet.
pub(crate) async fn migrate_embedded(address: &ConnectionAddress) -> anyhow::Result<()> {
    let settings =
        |role: &str| DatabaseSettings { url: Secret::from(address.url(role).as_str()), ..DatabaseSettings::default() };
    let superuser = settings(EmbeddedPostgres::SUPERUSER);
    create_roles(&superuser, address.password()).await?;
    migrate_schemas(&settings(ROLE), true).await?;
    project_schema::prepare(superuser.url.reveal(), &superuser).await
}

/// Creates roles and schemas in a database that is about to become a prepared one.
fn create_schemas(address: &ConnectionAddress) -> anyhow::Result<()> {
    Handle::current().block_on(async {
        migrate_embedded(address).await?;
        create_template(&address.url(EmbeddedPostgres::SUPERUSER)).await
    })
}

impl DatabaseSource {
    /// Returns the URL with which an operator connects, with the same privileges as this process.
    pub(crate) fn operator_url(&self) -> String {
        self.url(EmbeddedPostgres::SUPERUSER)
    }

    /// Returns the operator's URL on the TCP port of the embedded database, if it has one.
    pub(crate) fn operator_tcp_url(&self) -> Option<String> {
        match self {
            Self::External(_) => None,
            Self::Embedded(postgres) => postgres.tcp_url(EmbeddedPostgres::SUPERUSER),
        }
    }

    /// Migrates the database and returns a connection pool.
    /// `replicas` is the expected number of servers on an external database.
    pub(crate) async fn open(&self, config: &mut Config, replicas: Option<u32>) -> anyhow::Result<Pool> {
        self.migrate(&config.database, config.policy.mfa.recovery_codes.is_enabled()).await?;
        config.database.url = Secret::from(self.url(ROLE).as_str());
        if let Self::External(_) = self {
            config.database = database::divide_connections(config.database.clone(), replicas).await;
        }
        database::build_pool(&config.database, &config.policy.api)
    }

    /// Waits until an external database accepts connections; an embedded one does.
    ///
    /// # Errors
    /// The database cannot be used, or `closing` became true meanwhile.
    pub(crate) async fn wait_until_reachable(
        &self,
        settings: &DatabaseSettings,
        mut closing: ShutdownSignal,
    ) -> anyhow::Result<()> {
        let Self::External(url) = self else { return Ok(()) };
        let settings = DatabaseSettings { url: Secret::from(url.as_str()), ..settings.clone() };
        tokio::select! {
            reached = database::wait_until_reachable(&settings) => reached,
            _ = closing.wait_for(|closing| *closing) => bail!("a signal ended the wait for the database"),
        }
    }

    /// Creates roles and schemas that do not exist yet.
    ///
    /// An embedded database has the tables of recovery codes in any case, another if they are enabled.
    pub(crate) async fn migrate(&self, settings: &DatabaseSettings, has_recovery_codes: bool) -> anyhow::Result<()> {
        let mut settings = settings.clone();
        if let Self::Embedded(postgres) = self {
            settings.url = Secret::from(self.operator_url().as_str());
            create_roles(&settings, postgres.password()).await?;
            if let Some(password) = postgres.superuser_password() {
                set_superuser_password(&settings, password).await?;
            }
        }
        settings.url = Secret::from(self.url(ROLE).as_str());
        let is_embedded = matches!(self, Self::Embedded(_));
        migrate_schemas(&settings, has_recovery_codes || is_embedded).await?;
        match self {
            Self::Embedded(_) => project_schema::prepare(&self.operator_url(), &settings).await,
            Self::External(_) => Ok(()),
        }
    }

    /// Returns the major release of the embedded database.
    pub(crate) fn embedded_release(&self) -> Option<u32> {
        match self {
            Self::External(_) => None,
            Self::Embedded(postgres) => Some(postgres.major()),
        }
    }

    /// Stops the embedded database.
    pub(crate) fn stop(&self) {
        if let Self::Embedded(postgres) = self {
            postgres.stop();
        }
    }

    /// Returns the URL of a role.
    pub(crate) fn url(&self, role: &str) -> String {
        match self {
            Self::External(url) => url.clone(),
            Self::Embedded(postgres) => postgres.url(role),
        }
    }
}
