//! The worlds of a test server: each is a set of services on a database of its own.

mod data_api;
mod faults;
mod file_holders;
mod gotrue_world;
mod storage;

use std::sync::Arc;

use anyhow::Context;
use axum::extract::Request;
use data_folder::DataFolder;
use foundation::secret::Secret;
use futures::FutureExt;
use gotrue_rs::config::Config;
use gotrue_rules::domain::policy::HooksPolicy;
use http::StatusCode;
use messages::MessageStore;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use platform::events::EventLog;
use platform::store::Pool;
use platform::store::migrate::DatabaseName;
use serde_json::{Map, Value};
use test_bench::TestApiError;
use test_bench::api::{TEST_API_PATH, TestApi};
use test_bench::backend::{
    Backend, BackendBuilder, BackendPlan, DatabaseUrls, PauseConnections, Profile, WorldKeys, WorldSettings,
};
use test_bench::faults::FaultRules;
use test_bench::router::TestRouter;
use test_bench::worlds::{FAULT_SEED, WorldDatabases, Worlds};
use tokio::sync::watch;

use self::storage::WorldFiles;
use super::configure::{Addresses, BackendInputs, Configured, configure};
use super::data_api::RunningDataApi;
use super::live_shop::DeskChanges;
use super::services::{Dependencies, Services};
use super::storage::RunningStorage;
use super::{Announced, Backends, Endpoint, ServeOptions, Server, build_database_jobs, listeners, test_profile};
use crate::announce::TestAccess;
use crate::api_keys::{self, ApiKeys, LiveApiKeys};
use crate::app::SharedPorts;
use crate::database;
use crate::database_source::{DatabaseSource, find_database};
use crate::dev::OpenMailboxPorts;
use crate::logging;
use crate::project::Project;
use crate::project_schema::SchemaFiles;
use crate::served_apis::ServedApis;
use crate::shutdown::Shutdown;

/// The largest number of connections of one world.
const WORLD_CONNECTIONS: u32 = 8;

/// Builds the backends of the worlds.
struct WorldBackends {
    /// The project, with the settings of test servers.
    project: Project,
    source: Arc<DatabaseSource>,
    shared: SharedPorts,
    entropy: Entropy,
    /// The URL of the server.
    url: String,
    /// The URL of the server for this machine itself.
    origin: String,
    /// Whether files of the project use `cron`, `net` or webhooks.
    has_database_jobs: bool,
    /// The files of the storage API.
    files: WorldFiles,
}

impl Server {
    /// Starts a test server, which is the first of its worlds.
    pub(super) async fn start_worlds(
        mut project: Project,
        options: ServeOptions,
        folder: DataFolder,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Self> {
        let entropy = Entropy::from_system();
        test_profile::apply_to_project(&mut project);
        let source = tokio::task::spawn_blocking(find_database(&project, &folder, options.database()));
        let endpoint = Endpoint::open(&project, &folder, &options, &entropy).await;
        let source = Arc::new(source.await.context("starting the database")??);
        let Endpoint { listener, addresses, keys, tls: _ } = endpoint?;
        let limits = listeners::http_limits(&project);
        let has_database_jobs = SchemaFiles::read(&project)?.uses_database_jobs();
        let hooks = configured_hooks(&project, &addresses, &keys)?;
        let (administrator, template, report) = source.prepare_worlds(&project, &hooks).await?;
        let files = WorldFiles::open(folder.path())?;
        let default = source.default_database();
        let databases: Vec<_> = default.iter().chain([&template]).collect();
        files.seed(&project, &source, &keys, &databases).await?;
        let prefix = DatabaseName::parse(&format!("world_{}", entropy.base32(8).to_ascii_lowercase()))
            .context("naming the databases of the worlds")?;
        let databases = match &*source {
            DatabaseSource::Embedded(_) => WorldDatabases::new(administrator, template, prefix),
            DatabaseSource::External(_) => WorldDatabases::with_kept_cluster(administrator, template, prefix),
        };
        let databases = databases.observed_by(files.holders());
        let is_external = matches!(*source, DatabaseSource::External(_));
        let mut apis = ServedApis::find(&project, None, &keys, is_external);
        let builder = WorldBackends {
            project,
            source: Arc::clone(&source),
            shared: SharedPorts::start()?,
            entropy: entropy.fork(),
            url: addresses.url.clone(),
            origin: addresses.origin,
            has_database_jobs: has_database_jobs && matches!(*source, DatabaseSource::Embedded(_)),
            files,
        };
        let worlds = builder.start(databases, &keys)?;
        let access = TestAccess {
            test_url: format!("{}{TEST_API_PATH}", addresses.url),
            test_key: entropy.base32(40).to_ascii_lowercase(),
        };
        let router = TestRouter::new(worlds.clone(), TestApi::new(worlds.clone(), access.test_key.clone()));
        let mailbox = OpenMailboxPorts::open_for_tests(router.clone(), shutdown.signal()).await;
        (apis.has_inbox, apis.mailpit_url) = (true, mailbox.url.clone());
        let handle = move |request: Request| {
            let router = router.clone();
            async move { router.answer(request).await }
        };
        let serving = http_edge::spawn_task(http_edge::serve(listener, shutdown.signal(), limits, handle));
        Ok(Self {
            url: addresses.url,
            announced: Announced { keys, page_key: None, keys_version: None, desk_url: None, setup_link: None, apis },
            folder,
            database_url: source.operator_url(),
            database_url_tcp: source.operator_tcp_url(),
            source,
            test: Some(access),
            mailbox,
            serving,
            backends: Backends::Worlds(worlds),
            report,
        })
    }
}

impl WorldBackends {
    /// Builds the world that the server itself is, and the registry of all others.
    fn start(self, databases: WorldDatabases, keys: &ApiKeys) -> anyhow::Result<Worlds> {
        let plan = BackendPlan {
            url: self.url.clone(),
            keys: Arc::new(world_keys(keys.clone())?),
            settings: WorldSettings::default(),
            database: self.source.default_database().context("the database's name cannot be used for test servers")?,
            clock: Arc::new(SystemClock),
            faults: Arc::new(FaultRules::new(FAULT_SEED)),
            events: EventLog::default(),
        };
        let entropy = self.entropy.fork();
        Ok(Worlds::start(Arc::new(self), databases, entropy, plan)?)
    }

    fn build_backend(&self, plan: &BackendPlan) -> anyhow::Result<Backend> {
        let entropy = self.entropy.fork();
        if plan.settings.profile == Profile::Gotrue {
            return self.build_gotrue(plan, &entropy);
        }
        let mut project = self.project.with_settings(&plan.settings.config)?;
        test_profile::apply_to_project(&mut project);
        let keys = api_keys_of(&plan.keys);
        let path = plan.url.strip_prefix(&self.url).unwrap_or_default();
        let addresses = Addresses { url: plan.url.clone(), origin: format!("{}{path}", self.origin) };
        let Configured { mut config, provider, consent } = configure(BackendInputs {
            project: &project,
            addresses: &addresses,
            keys: &keys,
            entropy: &entropy,
            clock: &plan.clock,
            test_signing_key: Some(&plan.keys.signing_key),
        })?;
        logging::log_notices(&config.notices);
        let pool = self.build_pool(&mut config, &plan.database)?;
        let (closing, signal) = watch::channel(false);
        let sender = project.file.mail_sender(&project.display_name());
        let shared = self.ports(plan);
        let providers = provider.clone();
        let data_api = self.build_data_api(plan, &project, &config)?;
        let storage = self.files.build_api(&self.source, &self.url, plan, &project, &config, &keys)?;
        let pause = Some(build_pause(data_api.clone(), storage.clone()));
        let maintenance = data_api.clone().map(|running| http_edge::spawn_task(running.maintain(signal.clone())));
        let pruning = storage.clone().map(|running| http_edge::spawn_task(storage::maintain(running, signal.clone())));
        let dependencies = Dependencies {
            project: &project,
            // The database is new.
            changes: DeskChanges::default(),
            keys: &LiveApiKeys::new(&keys),
            pool,
            shared,
            leases: None,
            is_new: true,
            addresses: &addresses,
            events: Some(plan.events.clone()),
            closing: signal.clone(),
            provider,
            consent,
            data_api,
            storage,
        };
        let Services { router, app, worker, upkeep, outbox, .. } = Services::start(&config, dependencies)?;
        let messages = MessageStore::new(outbox.inbox(), sender, signal);
        let handler = Arc::new(move |request: Request| Arc::clone(&router).handle(request).boxed());
        let mut tasks: Vec<_> = [worker, upkeep].into_iter().chain(maintenance).chain(pruning).collect();
        // A listening connection for each world only where the project has work for it.
        if self.has_database_jobs {
            let url = self.source.operator_url_of(&plan.database);
            let jobs = build_database_jobs(&project, &config, &app, &addresses, url, None);
            tasks.push(jobs.start(closing.subscribe()));
        }
        Ok(Backend { app, handler, messages, providers, pause, closing, tasks })
    }

    fn build_pool(&self, config: &mut Config, database: &DatabaseName) -> anyhow::Result<Pool> {
        config.database.url = Secret::from(self.source.application_url(database).as_str());
        if config.database.max_pool_size == 0 {
            config.database.max_pool_size = WORLD_CONNECTIONS;
        }
        database::build_pool(&config.database, &config.policy.api)
    }

    fn ports(&self, plan: &BackendPlan) -> SharedPorts {
        let (clock, faults) = (Arc::clone(&plan.clock), Some(Arc::clone(&plan.faults)));
        SharedPorts { clock, faults, ..self.shared.clone() }
    }
}

impl BackendBuilder for WorldBackends {
    fn generate_keys(&self) -> Result<WorldKeys, TestApiError> {
        api_keys::combine(None, &self.project.configured_keys(), &self.entropy, SystemClock.now())
            .and_then(world_keys)
            .map_err(|error| TestApiError::internal("generating the keys of a world", error.as_ref()))
    }

    fn build(&self, plan: &BackendPlan) -> Result<Backend, TestApiError> {
        self.build_backend(plan).map_err(|error| {
            let hint = "docs/configuration.md lists the settings";
            TestApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_settings", format!("{error:#}"), hint)
        })
    }

    fn describe_settings(&self, settings: &WorldSettings) -> Map<String, Value> {
        if settings.profile == Profile::Gotrue {
            return settings.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        }
        let table = self.project.merge_settings(&settings.config).unwrap_or_default();
        match serde_json::to_value(table) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }

    fn database_urls(&self, database: &DatabaseName) -> DatabaseUrls {
        DatabaseUrls {
            database_url: self.source.operator_url_of(database),
            database_url_tcp: self.source.operator_tcp_url_of(database),
        }
    }
}

/// Closes the connections of the data API and of the storage API, which open none of their own accord.
fn build_pause(data_api: Option<RunningDataApi>, storage: Option<RunningStorage>) -> PauseConnections {
    Arc::new(move || {
        let (data_api, storage) = (data_api.clone(), storage.clone());
        async move {
            if let Some(running) = storage {
                running.api.database().pool().renew();
            }
            match data_api {
                Some(running) => Box::new(running.api.pause().await) as Box<dyn Send>,
                None => Box::new(()),
            }
        }
        .boxed()
    })
}

/// Returns the hooks of the project's settings.
fn configured_hooks(project: &Project, addresses: &Addresses, keys: &ApiKeys) -> anyhow::Result<HooksPolicy> {
    let config = project.settings(&addresses.url, keys)?;
    Ok(config.policy.hooks)
}

/// Adds the signing key of access tokens.
fn world_keys(keys: ApiKeys) -> anyhow::Result<WorldKeys> {
    let ApiKeys { jwt_secret, anon_key, service_role_key, publishable_key, secret_key } = keys;
    let signing_key = test_profile::generate_signing_key()?;
    Ok(WorldKeys { publishable_key, secret_key, anon_key, service_role_key, jwt_secret, signing_key })
}

fn api_keys_of(keys: &WorldKeys) -> ApiKeys {
    let WorldKeys { publishable_key, secret_key, anon_key, service_role_key, jwt_secret, .. } = keys.clone();
    ApiKeys { jwt_secret, anon_key, service_role_key, publishable_key, secret_key }
}
