//! The template of the databases of worlds, and their addresses.

use std::time::Duration;

use anyhow::Context;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rs::store::PgConnectOptions;
use gotrue_rs::store::migrate::{self, DatabaseAdministrator, DatabaseName};
use gotrue_rules::domain::policy::IndexWorkerPolicy;
use gotrue_rules::domain::secret::Secret;
use url::Url;

use super::source::{DatabaseSource, ROLE, migrate_schemas};
use crate::database;
use crate::embedded_postgres::EmbeddedPostgres;
use crate::project::Project;
use crate::project_schema::{self, SchemaFiles};

/// The database that worlds are copied from.
const TEMPLATE: &str = "world_template";
/// The same with the migrations and seed files of the project.
const PROJECT_TEMPLATE: &str = "project_template";
/// The database of a new cluster that servers use.
const EMBEDDED_DEFAULT: &str = "postgres";
/// The database to which the administrator connects: one that is never copied, renamed or dropped.
const ADMINISTRATION: &str = "template1";

/// Creates the template in a new cluster whose default database has all schemas.
pub(super) async fn create_embedded(superuser_url: &str) -> anyhow::Result<()> {
    create_indexes(superuser_url).await?;
    let administrator = build_administrator(superuser_url)?;
    administrator.copy(&name(EMBEDDED_DEFAULT)?, &name(TEMPLATE)?).await?;
    administrator.close().await;
    Ok(())
}

impl DatabaseSource {
    /// Migrates the default database; returns what creates databases, and the template of worlds.
    pub(super) async fn prepare_worlds(
        &self,
        project: &Project,
    ) -> anyhow::Result<(DatabaseAdministrator, DatabaseName)> {
        let administrator = build_administrator(&self.operator_url())?;
        let settings = DatabaseSettings::default();
        match self {
            Self::Embedded(_) => {
                let template = name(TEMPLATE)?;
                // A prepared cluster has everything.
                if !administrator.exists(&template).await? {
                    self.migrate(&settings, Duration::ZERO).await?;
                    create_embedded(&self.operator_url()).await?;
                }
                let has_files = SchemaFiles::read(project)?.is_any();
                if !has_files {
                    return Ok((administrator, template));
                }
                project_schema::apply(project, &self.operator_url(), &settings).await?;
                let template = name(PROJECT_TEMPLATE)?;
                administrator.copy(&name(EMBEDDED_DEFAULT)?, &template).await?;
                Ok((administrator, template))
            }
            Self::External(_) => {
                self.migrate(&settings, Duration::ZERO).await?;
                let template = name(&format!("{TEMPLATE}_{}", migrate::schema_fingerprint()))?;
                if !administrator.exists(&template).await? {
                    self.create_external(&administrator, &template).await?;
                }
                Ok((administrator, template))
            }
        }
    }

    /// Creates the template with the schemas but without the rows of the operator's database.
    async fn create_external(
        &self,
        administrator: &DatabaseAdministrator,
        template: &DatabaseName,
    ) -> anyhow::Result<()> {
        administrator.create_empty(template).await?;
        let url = self.application_url(template);
        let settings = DatabaseSettings { url: Secret::from(url.as_str()), ..DatabaseSettings::default() };
        let migrated = match migrate_schemas(&settings, Duration::ZERO).await {
            Ok(()) => create_indexes(&url).await,
            Err(error) => Err(error),
        };
        if migrated.is_err() {
            administrator.drop(template).await?;
        }
        migrated
    }

    /// Returns the name of the database of the default world; `None` if it has another form.
    pub(super) fn default_database(&self) -> Option<DatabaseName> {
        match self {
            Self::Embedded(_) => DatabaseName::parse(EMBEDDED_DEFAULT),
            Self::External(url) => DatabaseName::parse(Url::parse(url).ok()?.path().trim_start_matches('/')),
        }
    }

    /// Returns the URL with which the services use a database.
    pub(super) fn application_url(&self, database: &DatabaseName) -> String {
        with_database(&self.url(ROLE), database)
    }

    /// Returns the URL with which an operator connects to a database.
    pub(super) fn operator_url_of(&self, database: &DatabaseName) -> String {
        with_database(&self.operator_url(), database)
    }

    /// Returns the operator's URL of a database on the TCP port, if there is one.
    pub(super) fn operator_tcp_url_of(&self, database: &DatabaseName) -> Option<String> {
        let url = match self {
            Self::External(url) => Some(url.clone()),
            Self::Embedded(postgres) => postgres.tcp_url(EmbeddedPostgres::SUPERUSER),
        };
        url.map(|url| with_database(&url, database))
    }
}

fn build_administrator(url: &str) -> anyhow::Result<DatabaseAdministrator> {
    let url = with_database(url, &name(ADMINISTRATION)?);
    let settings = DatabaseSettings { url: Secret::from(url.as_str()), ..DatabaseSettings::default() };
    Ok(DatabaseAdministrator::new(database::build_administration_pool(&settings)?))
}

async fn create_indexes(url: &str) -> anyhow::Result<()> {
    let options: PgConnectOptions = url.parse().context("reading the URL of the database")?;
    let worker = IndexWorkerPolicy { ensure_user_search_indexes_exist: true, ..IndexWorkerPolicy::default() };
    migrate::create_indexes(&options.options([("search_path", "auth")]), &worker).await?;
    Ok(())
}

fn name(text: &str) -> anyhow::Result<DatabaseName> {
    DatabaseName::parse(text).context("naming a database")
}

/// Returns the URL of another database of the same server.
fn with_database(url: &str, database: &DatabaseName) -> String {
    match Url::parse(url) {
        Ok(mut parsed) => {
            parsed.set_path(database.as_str());
            parsed.into()
        }
        Err(_) => url.to_owned(),
    }
}
