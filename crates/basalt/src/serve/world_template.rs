//! The template of the databases of worlds, and their addresses.

use embedded_postgres::EmbeddedPostgres;
use foundation::database_url::{find_database, with_database};
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rs::store::migrate;
use gotrue_rules::domain::policy::HooksPolicy;
use platform::store::migrate::{DatabaseAdministrator, DatabaseName};

use crate::database_source::DatabaseSource;
use crate::database_source::schemas::{
    EMBEDDED_DEFAULT, ROLE, TEMPLATE, build_administrator, create_indexes, create_template, migrate_schemas, name,
};
use crate::project::Project;
use crate::project_schema::{self, ProjectReport, SchemaFiles};

/// The same with the migrations and seed files of the project.
const PROJECT_TEMPLATE: &str = "project_template";

impl DatabaseSource {
    /// Migrates the default database; returns what creates databases, the template of worlds, and what that lacks.
    ///
    /// `hooks` are those that call functions of the project.
    pub(super) async fn prepare_worlds(
        &self,
        project: &Project,
        hooks: &HooksPolicy,
    ) -> anyhow::Result<(DatabaseAdministrator, DatabaseName, ProjectReport)> {
        let administrator = build_administrator(&self.operator_url()).await?;
        let settings = DatabaseSettings::default();
        match self {
            Self::Embedded(_) => {
                let template = name(TEMPLATE)?;
                // A prepared cluster has everything.
                if !administrator.exists(&template).await? {
                    self.migrate(&settings, true).await?;
                    create_template(&self.operator_url()).await?;
                }
                let files = SchemaFiles::read(project)?;
                let is_plain =
                    !files.is_any() && !files.schema.hides_new_objects && project.file.vault_secrets().is_empty();
                if is_plain {
                    return Ok((administrator, template, ProjectReport::default()));
                }
                let (_, report) = project_schema::apply(project, &self.operator_url(), &settings, hooks).await?;
                report.log();
                let template = name(PROJECT_TEMPLATE)?;
                administrator.copy(&name(EMBEDDED_DEFAULT)?, &template).await?;
                Ok((administrator, template, report))
            }
            Self::External(_) => {
                self.migrate(&settings, true).await?;
                let template = name(&format!("{TEMPLATE}_{}", migrate::schema_fingerprint()))?;
                if !administrator.exists(&template).await? {
                    self.create_external(&administrator, &template).await?;
                }
                Ok((administrator, template, ProjectReport::default()))
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
        let migrated = match migrate_schemas(&settings, true).await {
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
            Self::External(url) => find_database(url).and_then(DatabaseName::parse),
        }
    }

    /// Returns the URL with which the services use a database.
    pub(super) fn application_url(&self, database: &DatabaseName) -> String {
        with_database(&self.url(ROLE), database.as_str())
    }

    /// Returns the URL with which an operator connects to a database.
    pub(super) fn operator_url_of(&self, database: &DatabaseName) -> String {
        with_database(&self.operator_url(), database.as_str())
    }

    /// Returns the operator's URL of a database on the TCP port, if there is one.
    pub(super) fn operator_tcp_url_of(&self, database: &DatabaseName) -> Option<String> {
        let url = match self {
            Self::External(url) => Some(url.clone()),
            Self::Embedded(postgres) => postgres.tcp_url(EmbeddedPostgres::SUPERUSER),
        };
        url.map(|url| with_database(&url, database.as_str()))
    }
}
