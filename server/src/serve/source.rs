//! The database of `basalt serve`: the operator's, or an embedded one.

use anyhow::Context;
use gotrue_rs::config::Config;
use gotrue_rs::store::{Pool, migrate};
use gotrue_rules::domain::secret::Secret;

use crate::data_folder::DataFolder;
use crate::database;
use crate::embedded_postgres::{BinarySearch, EmbeddedOptions, EmbeddedPostgres};
use crate::project::Project;

/// The role that owns and uses the tables.
const ROLE: &str = "supabase_auth_admin";

/// The database in use.
pub(crate) enum DatabaseSource {
    /// The operator's database, identified by its URL and managed externally.
    External(String),
    /// The embedded database, started and stopped with this process.
    Embedded(Box<EmbeddedPostgres>),
}

/// Returns a function that connects to the given database or starts the embedded one.
/// It blocks and must run on a blocking thread. `given` takes precedence over the environment. An ephemeral database is
/// never one that only the environment names, because that one holds an application's tables.
pub(crate) fn find_database(
    project: &Project,
    folder: &DataFolder,
    ephemeral: bool,
    given: Option<&str>,
) -> impl FnOnce() -> anyhow::Result<DatabaseSource> + use<> {
    let variable = |name: &str| project.vars.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    let inherited = || variable("DATABASE_URL").filter(|_| !ephemeral);
    let given = given.filter(|url| !url.is_empty()).map(str::to_owned).or_else(inherited);
    let search = BinarySearch {
        bin_dir: variable("PG_BIN_DIR").map(Into::into),
        path: variable("PATH").map(Into::into),
        executable: std::env::current_exe().ok(),
        folder: std::env::current_dir().ok(),
    };
    let options = EmbeddedOptions { data: folder.path().to_owned(), search, ephemeral };
    move || {
        if let Some(url) = given {
            return Ok(DatabaseSource::External(url));
        }
        let postgres = EmbeddedPostgres::start(&options)?;
        tracing::debug!(folder = %postgres.folder().display(), origin = %postgres.origin(), "started PostgreSQL");
        Ok(DatabaseSource::Embedded(Box::new(postgres)))
    }
}

impl DatabaseSource {
    /// Returns the URL with which an operator connects, with the same privileges as this process.
    pub(crate) fn operator_url(&self) -> String {
        self.url(EmbeddedPostgres::SUPERUSER)
    }

    /// Migrates the database and returns a connection pool.
    pub(crate) async fn open(&self, config: &mut Config) -> anyhow::Result<Pool> {
        if let Self::Embedded(postgres) = self {
            // The roles of the embedded database are created here; in an external one the operator creates them.
            let mut settings = config.database.clone();
            settings.url = Secret::from(self.operator_url().as_str());
            let pool = database::build_migration_pool(&settings, config.policy.api.max_request_duration)?;
            migrate::create_roles(&pool, postgres.password()).await?;
            pool.close().await;
        }
        config.database.url = Secret::from(self.url(ROLE).as_str());
        let migrating = database::build_migration_pool(&config.database, config.policy.api.max_request_duration)?;
        migrate::migrate_auth(&migrating, &config.database.namespace).await.context("preparing schema auth")?;
        migrate::migrate_basalt(&migrating).await.context("preparing schema basalt")?;
        migrating.close().await;
        database::build_pool(&config.database, &config.policy.api)
    }

    /// Stops the embedded database.
    pub(crate) fn stop(self) {
        if let Self::Embedded(postgres) = self {
            postgres.stop();
        }
    }

    fn url(&self, role: &str) -> String {
        match self {
            Self::External(url) => url.clone(),
            Self::Embedded(postgres) => postgres.url(role),
        }
    }
}
