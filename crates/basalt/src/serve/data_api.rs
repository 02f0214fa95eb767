//! The data API of `basalt serve`: its settings, its keys, and what keeps it current.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;
use gateway::Service;
use gotrue_rs::config::{Config, JwtKeys};
use http_edge::ShutdownSignal;
use postgrest_rs::config::Sources;
use postgrest_rs::execute::connect::prefer_primary;
use postgrest_rs::service::DataApi;
use postgrest_rs::service::dependencies::Dependencies;
use postgrest_rs::upkeep::{self, ReloadRequests};
use serde_json::json;

use crate::config_file::data_api::DataApiSettings;
use crate::database_source::DatabaseSource;
use crate::keys::build_secret_jwk;
use crate::project::Project;

/// The login role of the embedded database: no superuser, with the right to become the roles of requests.
const LOGIN_ROLE: &str = "authenticator";
/// The role of requests without a token of a user.
const ANONYMOUS_ROLE: &str = "anon";

#[derive(Clone)]
pub(super) struct RunningDataApi {
    /// Answers requests.
    pub api: Arc<DataApi>,
    settings: BTreeMap<String, String>,
}

/// Returns the URL of the login role; `None` if the data API is off or forwarded, or has no role in an external database.
pub(super) fn find_database(project: &Project, source: &DatabaseSource) -> Option<String> {
    if !is_served(project, matches!(source, DatabaseSource::External(_))) {
        return None;
    }
    match source {
        DatabaseSource::Embedded(_) => Some(source.url(LOGIN_ROLE)),
        DatabaseSource::External(_) => project.file.basalt.data_api.database_url.clone(),
    }
}

/// Returns whether this process serves the data API of a project; an external database needs a role for it.
pub(crate) fn is_served(project: &Project, is_external: bool) -> bool {
    let basalt = &project.file.basalt;
    let is_own = basalt.data_api.is_enabled && basalt.upstreams.get(Service::Rest).is_none();
    is_own && (!is_external || basalt.data_api.database_url.is_some())
}

/// Says whether `/rest/v1` is answered, and by what; `is_external`: the database is one of the operator.
pub(crate) fn describe(project: &Project, is_external: bool) -> String {
    let basalt = &project.file.basalt;
    if basalt.upstreams.get(Service::Rest).is_some() {
        return "Data API: /rest/v1 is forwarded to the service of [basalt.upstreams]".to_owned();
    }
    if !basalt.data_api.is_enabled {
        return "Data API: off, by enabled = false in [api]".to_owned();
    }
    if !is_served(project, is_external) {
        return "Data API: off, as [basalt.data_api] has no database_url with a login role for this database"
            .to_owned();
    }
    format!("Data API: /rest/v1 serves {}", basalt.data_api.schemas.join(", "))
}

impl RunningDataApi {
    /// Builds the data API; the database is asked later, by [`Self::maintain`].
    pub(super) fn new(
        settings: &DataApiSettings,
        database_url: &str,
        config: &Config,
        dependencies: Dependencies,
    ) -> anyhow::Result<Self> {
        Self::with_limits(settings, database_url, config, dependencies, &[])
    }

    /// The same with further settings by PostgREST's names.
    pub(super) fn with_limits(
        settings: &DataApiSettings,
        database_url: &str,
        config: &Config,
        dependencies: Dependencies,
        limits: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let database_url = prefer_primary(database_url).map_err(|error| anyhow!("preparing the data API: {error}"))?;
        let prepares = settings.prepares_statements;
        let mut settings: BTreeMap<String, String> = [
            ("db-uri", database_url),
            ("db-schemas", settings.schemas.join(",")),
            ("db-extra-search-path", settings.extra_search_path.join(",")),
            ("db-max-rows", settings.max_rows.to_string()),
            ("db-pool", settings.max_connections.to_string()),
            ("db-anon-role", ANONYMOUS_ROLE.to_owned()),
            // Supabase preloads the extension safeupdate for this role.
            ("db-safe-update", "true".to_owned()),
            // The router logs requests.
            ("log-level", "crit".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        if let Some(prepares) = prepares {
            settings.insert("db-prepared-statements".to_owned(), prepares.to_string());
        }
        if let Some(url) = find_public_url(config) {
            settings.insert("openapi-server-proxy-uri".to_owned(), url);
        }
        settings.extend(limits.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let sources = build_sources(&settings, &config.jwt);
        let api = DataApi::with_dependencies(sources, dependencies);
        let api = api.map_err(|error| anyhow!("preparing the data API: {error}"))?;
        Ok(Self { api, settings })
    }

    /// Verifies later tokens with these keys; the database is not asked.
    pub(super) fn replace_keys(&self, keys: &JwtKeys) -> anyhow::Result<()> {
        let sources = build_sources(&self.settings, keys);
        self.api.replace_settings(sources).map_err(|error| anyhow!("replacing the keys of the data API: {error}"))
    }

    /// Reads the schema, and reads it anew when the database says that it changed, until shutdown.
    pub(super) async fn maintain(self, mut closing: ShutdownSignal) {
        tokio::select! {
            () = upkeep::run(Arc::clone(&self.api), None, Arc::new(ReloadRequests::default())) => {}
            _ = closing.wait_for(|closing| *closing) => {}
        }
        self.api.pool().renew();
    }
}

/// Returns the URL of the data API for clients, if the auth API has its usual place beside it.
fn find_public_url(config: &Config) -> Option<String> {
    let base = config.policy.site.external_url.strip_suffix("/auth/v1")?;
    let url = format!("{base}/rest/v1");
    url.parse::<http::Uri>().is_ok().then_some(url)
}

/// Builds the settings with these keys, all of which verify tokens.
fn build_sources(settings: &BTreeMap<String, String>, keys: &JwtKeys) -> Sources {
    let secret = keys.secret_of_tokens.as_ref().unwrap_or(&keys.secret);
    let secret = build_secret_jwk(secret.reveal());
    let all: Vec<_> = keys.keys.iter().cloned().chain([secret]).collect();
    let mut file = settings.clone();
    file.insert("jwt-secret".to_owned(), json!({ "keys": all }).to_string());
    Sources { file, ..Sources::default() }
}
