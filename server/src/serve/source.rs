//! Where the data of `basalt serve` is: in the operator's database, or in one of our own.

use anyhow::Context;
use gotrue_rs::config::Config;
use gotrue_rs::store::{Pool, migrate};
use gotrue_rules::domain::secret::Secret;

use crate::cli::Project;
use crate::data_folder::DataFolder;
use crate::database;
use crate::embedded_postgres::{EmbeddedPostgres, Options, Search};

/// The role that owns and uses the tables.
const ROLE: &str = "supabase_auth_admin";

/// A database that runs.
pub enum Source {
    /// The operator's, which others look after.
    Given(String),
    /// Ours, started and stopped with us.
    Own(Box<EmbeddedPostgres>),
}

/// What finds the database or starts it: to be run on a thread that may wait. `given` counts before the environment. A
/// database that is thrown away is never one that only the environment names: an application's tables are there.
pub fn find(
    project: &Project,
    folder: &DataFolder,
    ephemeral: bool,
    given: Option<&str>,
) -> impl FnOnce() -> anyhow::Result<Source> + use<> {
    let variable = |name: &str| project.vars.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    let inherited = || variable("DATABASE_URL").filter(|_| !ephemeral);
    let given = given.filter(|url| !url.is_empty()).map(str::to_owned).or_else(inherited);
    let search = Search {
        bin_dir: variable("PG_BIN_DIR").map(Into::into),
        path: variable("PATH").map(Into::into),
        executable: std::env::current_exe().ok(),
        folder: std::env::current_dir().ok(),
    };
    let options = Options { data: folder.path().to_owned(), search, ephemeral };
    move || {
        if let Some(url) = given {
            return Ok(Source::Given(url));
        }
        let postgres = EmbeddedPostgres::start(&options)?;
        tracing::debug!(folder = %postgres.folder().display(), "started {}", postgres.origin());
        Ok(Source::Own(Box::new(postgres)))
    }
}

impl Source {
    /// How an operator connects, with every right we have ourselves.
    pub fn operators_url(&self) -> String {
        self.url(EmbeddedPostgres::SUPERUSER)
    }

    /// A pool of connections to the migrated database.
    pub async fn open(&self, config: &mut Config) -> anyhow::Result<Pool> {
        if let Self::Own(postgres) = self {
            // In a database of our own the roles are ours to make.
            let mut settings = config.database.clone();
            settings.url = Secret::from(self.operators_url().as_str());
            let pool = database::migration_pool(&settings, config.policy.api.max_request_duration)?;
            migrate::roles(&pool, postgres.password()).await?;
            pool.close().await;
        }
        config.database.url = Secret::from(self.url(ROLE).as_str());
        let migrating = database::migration_pool(&config.database, config.policy.api.max_request_duration)?;
        migrate::auth(&migrating, &config.database.namespace).await.context("preparing schema auth")?;
        migrate::basalt(&migrating).await.context("preparing schema basalt")?;
        migrating.close().await;
        database::pool(&config.database, &config.policy.api)
    }

    /// Stops what is ours.
    pub fn stop(self) {
        if let Self::Own(postgres) = self {
            postgres.stop();
        }
    }

    fn url(&self, role: &str) -> String {
        match self {
            Self::Given(url) => url.clone(),
            Self::Own(postgres) => postgres.url(role),
        }
    }
}
