//! `basalt serve` from start to end: data folder, database, keys, settings, services, shutdown.

mod archive;
mod configure;
pub(crate) mod data_api;
mod database_apis;
pub(crate) mod desk;
mod endpoint;
mod listeners;
mod live_keys;
pub(crate) mod live_shop;
mod options;
pub(crate) mod payment_checks;
pub(crate) mod payments;
mod reloading;
mod services;
pub(crate) mod storage;
mod submissions;
mod test_profile;
pub(crate) mod tls;
mod uploaded_pictures;
mod world_template;
mod worlds;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use data_folder::DataFolder;
use embedded_postgres::TcpPort;
use embedded_postgres::backup::WalArchive;
use embedded_postgres::database_jobs::{DatabaseJobs, RequestTargets};
use foundation::error_chain::ErrorChain;
use foundation::time::Time;
use gotrue_rs::app::App;
use gotrue_rs::config::Config;
use gotrue_rs::services::limits::warn_unless_shared;
use http_edge::{Listener, ShutdownSignal};
use platform::clock::{Clock as _, SystemClock};
use platform::entropy::Entropy;
use platform::store::leases::JobLease;
use platform::store::{Connection, Pool};
use test_bench::worlds::Worlds;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::announce::{Announcement, RunningServer, TestAccess};
use crate::api_keys::ApiKeys;
use crate::app::{self, SharedPorts};
use crate::config_file::MailboxPorts;
use crate::database_source::{DatabaseOptions, DatabaseSource, find_database};
use crate::dev::consent::ConsentPage;
use crate::dev::{Access, InboxPages, OpenMailboxPorts};
use crate::metrics::MetricSources;
use crate::otlp::OtlpExporter;
use crate::project::Project;
use crate::project_schema::ProjectReport;
use crate::replicas::{self, Replica};
use crate::served_apis::ServedApis;
use crate::shutdown::{self, Shutdown};
use crate::{logging, profiles, project_schema};
pub(crate) use configure::describe_discarded_mail;
use configure::{Addresses, BackendInputs, Configured, configure};
pub(crate) use data_api::describe as describe_data_api;
use database_apis::DatabaseApis;
use endpoint::Endpoint;
use listeners::{serve_metrics, spawn_http};
use live_keys::LiveKeys;
use live_shop::DeskChanges;
pub(crate) use options::{ServeOptions, TestOptions};
use payment_checks::check_products;
use reloading::Reloading;
pub(crate) use services::{BUILT_IN_FUNCTIONS, build_outbox};
use services::{Dependencies, Services};
pub(crate) use test_profile::generate_signing_key as generate_test_signing_key;

/// The TCP port of the database during development, that of the Supabase CLI.
const DEFAULT_DATABASE_PORT: u16 = 54_322;

/// A server that accepts requests.
pub(crate) struct Server {
    url: String,
    announced: Announced,
    folder: DataFolder,
    source: Arc<DatabaseSource>,
    database_url: String,
    database_url_tcp: Option<String>,
    test: Option<TestAccess>,
    mailbox: OpenMailboxPorts,
    serving: JoinHandle<()>,
    backends: Backends,
    report: ProjectReport,
}

/// What a server prints when it is ready.
struct Announced {
    keys: Arc<ApiKeys>,
    /// The publishable key in the pages.
    page_key: Option<String>,
    /// The version of the keys, if `basalt keys` can change them.
    keys_version: Option<i64>,
    /// The address of the desk, if there is one.
    desk_url: Option<String>,
    /// The link that makes the first owner of the desk, if this start has created it.
    setup_link: Option<String>,
    apis: ServedApis,
}

/// What answers the requests of a server.
enum Backends {
    /// One backend.
    Single {
        /// Its database connections.
        pool: Pool,
        /// Its background tasks.
        tasks: Vec<JoinHandle<()>>,
        /// The archive of the embedded database's write-ahead log.
        archive: Option<WalArchive>,
    },
    /// The worlds of a test server.
    Worlds(Worlds),
}

/// Serves until a signal arrives.
///
/// `json`: prints one line of JSON on standard output when ready. With `until_parent_ends` the end of the parent process
/// is such a signal. The exit status of a test server tells whether statements of the project were skipped.
pub(crate) async fn serve(
    project: Project,
    options: ServeOptions,
    telemetry: Option<OtlpExporter>,
    json: bool,
    until_parent_ends: bool,
) -> anyhow::Result<ExitCode> {
    let parent = rustix::process::getppid();
    let test = options.test;
    let shutdown = Shutdown::new();
    shutdown.begin_on_signals().context("listening for signals")?;
    shutdown::ignore_hangup().context("listening for SIGHUP")?;
    if until_parent_ends {
        shutdown.begin_after_parent(parent);
    }
    let server = match Box::pin(Server::start(project, options, telemetry, &shutdown)).await {
        Err(error) if shutdown.has_begun() => {
            tracing::warn!(error = %ErrorChain(error.as_ref()), "stopped before the start was complete");
            return Ok(ExitCode::SUCCESS);
        }
        started => started?,
    };
    let report = test.map(|test| (server.report.clone(), test.allows_skipped));
    // A server that was stopped during its start is not announced.
    if !shutdown.has_begun() {
        server.announce(json)?;
    }
    server.wait().await?;
    Ok(report.map_or(ExitCode::SUCCESS, |(report, is_allowed)| report.exit_code(is_allowed)))
}

impl Server {
    /// Starts database and services.
    pub(crate) async fn start(
        project: Project,
        options: ServeOptions,
        telemetry: Option<OtlpExporter>,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Self> {
        let entropy = Entropy::from_system();
        let folder = if options.ephemeral {
            DataFolder::open_ephemeral(&entropy.base32(12))?
        } else {
            DataFolder::open(&project.data)?
        };
        match options.test {
            None => Box::pin(Self::start_single(project, options, folder, telemetry, shutdown)).await,
            Some(_) => Self::start_worlds(project, options, folder, shutdown).await,
        }
    }

    /// Starts a server with one backend.
    async fn start_single(
        project: Project,
        options: ServeOptions,
        folder: DataFolder,
        telemetry: Option<OtlpExporter>,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Self> {
        let (started, shared) = (SystemClock.now(), SharedPorts::start()?);
        let (endpoint, mut prepared) = prepare(&project, &folder, &options, &shared).await?;
        let source = start_database(&project, &folder, &prepared.config, &options).await?;
        let (configured, port) = (prepared.config.clone(), endpoint.listener.local_addr()?.port());
        let pool = open_database(&source, &project, &mut prepared.config, shutdown).await?;
        let keys = load_keys(&project, &endpoint, &pool, folder.path(), &mut prepared).await?;
        let Configured { config, provider, consent } = prepared;
        let changes = load_catalogue_changes(&project, &pool).await?;
        let (closing, id) = (shutdown.signal(), Entropy::from_system().uuid());
        let joining = Joining { project: &project, config: &config, pool: &pool, keys: &keys, id };
        let Joined { mut tasks, report } = joining.join(&source, closing.clone()).await?;
        // Other servers may run on a database that is not of this one: their links are kept.
        let kept_since = if source.embedded_release().is_some() { started } else { Time::UNIX_EPOCH };
        let setup_link = desk::prepare_start(&project, &pool, &endpoint.addresses.url, kept_since).await?;
        let archive = archive::start_archive(&source, &project, options.ephemeral).await?;
        let (simulator, has_consent_page) = (provider.clone(), consent.is_some());
        let hashing = Arc::clone(&shared.hashing);
        let mut database_apis =
            DatabaseApis::start(&project, &source, &config, &keys.shown(), folder.path(), &closing)?;
        tasks.append(&mut database_apis.tasks);
        let stored = database_apis.storage.as_ref().map(|running| Arc::clone(&running.api));
        let dependencies = Dependencies {
            project: &project,
            changes,
            keys: &keys.live,
            pool: pool.clone(),
            shared,
            leases: Some(replicas::job_leases(&pool, id)),
            is_new: false,
            addresses: &endpoint.addresses,
            events: None,
            closing: closing.clone(),
            provider,
            consent,
            data_api: database_apis.data,
            storage: database_apis.storage,
        };
        let Services { router, app, replace, worker, upkeep, outbox, inbox, access } =
            Services::start(&config, dependencies)?;
        keys.publish(&config, &app)?;
        if let DatabaseSource::Embedded(_) = source {
            let lease = Some(replicas::database_job_lease(&pool, id));
            let jobs = build_database_jobs(&project, &config, &app, &endpoint.addresses, source.operator_url(), lease);
            tasks.push(jobs.start(closing.clone()));
        }
        let inbox = inbox.filter(|_| profiles::has_development_pages(&config, &project.file.basalt));
        let ports = project.file.mailbox_ports(options.takes_free_ports());
        let mut mailbox = open_mailbox(ports, inbox, access, closing.clone()).await;
        tasks.append(&mut mailbox.tasks);
        let outbox_source = Some(Arc::clone(&outbox));
        let sources = MetricSources { pool: pool.clone(), hashing, outbox: outbox_source, storage: stored.clone() };
        tasks.extend([worker, upkeep]);
        tasks.extend(serve_metrics(&project, sources.clone(), closing.clone()).await?);
        tasks.extend(telemetry.map(|telemetry| telemetry.start(Arc::clone(&app.http), sources, closing.clone())));
        let Endpoint { listener, addresses, keys: configured_keys, tls } = endpoint;
        tasks.extend(tls.clone().map(|tls| tls::start_reload(tls, closing.clone())));
        let details = report.readiness_details(profiles::has_development_pages(&config, &project.file.basalt));
        let reported = (details, stored);
        let serving = spawn_http(Listener::new(listener, tls), router, (&project, &config), reported, shutdown)?;
        let desk_url = desk::find_desk_url(&project, &addresses.url);
        let is_external = matches!(source, DatabaseSource::External(_));
        let mut apis = ServedApis::find(&project, Some(&config), &keys.shown(), is_external);
        apis.mailpit_url.clone_from(&mailbox.url);
        let announced = Announced {
            keys: Arc::new(keys.shown()),
            page_key: keys.page_key(),
            keys_version: Some(keys.version()),
            desk_url,
            setup_link,
            apis,
        };
        let reloading = Reloading {
            project,
            config: configured,
            database: config.database,
            keys: configured_keys,
            live: keys,
            url: addresses.url.clone(),
            port,
            provider: simulator,
            has_consent_page,
            outbox,
            replace,
        };
        tasks.push(http_edge::spawn_task(reloading.run(closing)));
        let backends = Backends::Single { pool, tasks, archive };
        Ok(Self::new(Running { addresses, announced, folder, source, mailbox, serving, backends, report }))
    }

    fn new(running: Running) -> Self {
        let Running { addresses, announced, folder, source, mailbox, serving, backends, report } = running;
        Self {
            url: addresses.url,
            announced,
            folder,
            database_url: source.operator_url(),
            database_url_tcp: source.operator_tcp_url(),
            source: Arc::new(source),
            test: None,
            mailbox,
            serving,
            backends,
            report,
        }
    }

    /// Returns what the database of the project lacks.
    pub(crate) fn report(&self) -> &ProjectReport {
        &self.report
    }

    /// Returns URLs and keys.
    pub(crate) fn announcement(&self) -> Announcement<'_> {
        let tcp_url = self.database_url_tcp.as_deref();
        Announcement::new(&self.url, &self.announced.keys, Some(&self.database_url))
            .with_apis(&self.announced.apis)
            .with_tcp_url(tcp_url)
            .with_test_access(self.test.as_ref())
            .with_smtp_port(self.mailbox.smtp_port)
            .with_desk(self.announced.desk_url.clone())
            .with_setup_link(self.announced.setup_link.as_deref())
            .with_project_report(&self.report)
    }

    /// Prints URLs and keys, and stores the URLs for `basalt status`.
    fn announce(&self, json: bool) -> anyhow::Result<()> {
        let announcement = self.announcement();
        let text = if json { announcement.to_json_line()? } else { announcement.to_text("Basalt is ready.") };
        let mut running = RunningServer::new(&self.url, &self.database_url, self.database_url_tcp.as_deref());
        running.has_embedded_database = matches!(*self.source, DatabaseSource::Embedded(_));
        running.set_keys(&self.announced.keys);
        running.apis = Some(self.announced.apis.clone());
        running.page_key.clone_from(&self.announced.page_key);
        running.keys_version = self.announced.keys_version;
        running.write(self.folder.path()).context("writing into the data folder")?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).context("writing to standard output")
    }

    /// Waits for the shutdown, then stops the services and the database.
    pub(crate) async fn wait(self) -> anyhow::Result<()> {
        self.serving.await.context("serving requests")?;
        match self.backends {
            Backends::Single { pool, tasks, archive } => {
                for task in tasks {
                    task.await.context("ending a background task")?;
                }
                pool.close().await;
                if let Some(archive) = archive {
                    archive.finish().await?;
                }
            }
            Backends::Worlds(worlds) => worlds.close().await,
        }
        RunningServer::remove(self.folder.path());
        let source = self.source;
        tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
        Ok(())
    }
}

/// The parts of a server with one backend.
struct Running {
    addresses: Addresses,
    announced: Announced,
    folder: DataFolder,
    source: DatabaseSource,
    mailbox: OpenMailboxPorts,
    serving: JoinHandle<()>,
    backends: Backends,
    report: ProjectReport,
}

/// Starts the embedded database, or finds that of the operator, and says which settings name another release.
async fn start_database(
    project: &Project,
    folder: &DataFolder,
    config: &Config,
    options: &ServeOptions,
) -> anyhow::Result<DatabaseSource> {
    let wanted = DatabaseOptions { port: development_database_port(project, config, options), ..options.database() };
    let source = tokio::task::spawn_blocking(find_database(project, folder, wanted));
    let source = source.await.context("starting the database")??;
    let other_release = source.embedded_release().and_then(|major| project.file.describe_other_release(major));
    logging::log_notices(other_release.as_slice());
    Ok(source)
}

/// Returns the TCP port of an embedded database: one for tools during development, otherwise none.
fn development_database_port(project: &Project, config: &Config, options: &ServeOptions) -> TcpPort {
    if !profiles::has_development_pages(config, &project.file.basalt) {
        return TcpPort::None;
    }
    let usual = || project.file.database_port().unwrap_or(DEFAULT_DATABASE_PORT);
    TcpPort::Development(if options.takes_free_ports() { 0 } else { usual() })
}

/// Opens the database once it is reachable; refuses a store of rate limits that refuses the server.
async fn open_database(
    source: &DatabaseSource,
    project: &Project,
    config: &mut Config,
    shutdown: &Shutdown,
) -> anyhow::Result<Pool> {
    app::check_limit_store(config).await?;
    source.wait_until_reachable(&config.database, shutdown.signal()).await?;
    source.open(config, project.file.basalt.expected_replicas).await
}

/// Loads the changes of the catalogue, if there is a shop; what is sold with them must have its files.
async fn load_catalogue_changes(project: &Project, pool: &Pool) -> anyhow::Result<DeskChanges> {
    if !project.has_shop {
        return Ok(DeskChanges::default());
    }
    let changes = DeskChanges::load(&mut Connection::pooled(pool.clone(), Arc::default())).await;
    let changes = changes.context("reading the changes of the catalogue")?;
    check_products(project, &changes)?;
    Ok(changes)
}

/// Loads the stored keys, and adds them to the settings and the consent page.
async fn load_keys(
    project: &Project,
    endpoint: &Endpoint,
    pool: &Pool,
    data: &Path,
    prepared: &mut Configured,
) -> anyhow::Result<LiveKeys> {
    let has_pages = project.has_shop || prepared.consent.is_some();
    let keys = LiveKeys::load(pool, &endpoint.keys, data.to_owned(), has_pages).await?;
    keys.apply_to(&mut prepared.config);
    if prepared.consent.is_some() {
        prepared.consent = Some(ConsentPage::new(&endpoint.addresses.url, &keys.shown().publishable_key));
    }
    Ok(keys)
}

/// A server that starts to use its database.
struct Joining<'a> {
    project: &'a Project,
    config: &'a Config,
    pool: &'a Pool,
    keys: &'a LiveKeys,
    id: Uuid,
}

/// What a server knows after it has joined.
struct Joined {
    /// The tasks of the replica.
    tasks: Vec<JoinHandle<()>>,
    /// What the database of the project lacks.
    report: ProjectReport,
}

impl Joining<'_> {
    /// Applies the project's files to an embedded database, or registers as a replica of another one.
    ///
    async fn join(self, source: &DatabaseSource, closing: ShutdownSignal) -> anyhow::Result<Joined> {
        let Self { project, config, pool, keys, id } = self;
        if let DatabaseSource::Embedded(_) = source {
            let hooks = &config.policy.hooks;
            let applied = project_schema::apply(project, &source.operator_url(), &config.database, hooks).await;
            let (_, report) = applied?;
            report.log();
            return Ok(Joined { tasks: Vec::new(), report });
        }
        let (fingerprints, later) = keys.fingerprints(config);
        let allow_differences = project.file.basalt.allow_differing_replicas;
        let replica = Replica::register(pool, id, &fingerprints, allow_differences).await?;
        warn_unless_shared(&config.limit_store, replica.others);
        Ok(Joined { tasks: vec![replica.keep_alive(later, closing)], report: ProjectReport::default() })
    }
}

/// Builds the background work that SQL of the project asks for; `url` is that of a superuser.
fn build_database_jobs(
    project: &Project,
    config: &Config,
    app: &App,
    addresses: &Addresses,
    url: String,
    lease: Option<JobLease>,
) -> DatabaseJobs {
    let own = [addresses.url.clone(), addresses.origin.clone()];
    let allows_private = profiles::has_development_pages(config, &project.file.basalt);
    let targets = RequestTargets { own, allows_private };
    DatabaseJobs { url, http: Arc::clone(&app.http), clock: app.clock.clone(), targets, lease }
}

/// Opens the ports of the inbox, if messages can be read.
async fn open_mailbox(
    ports: MailboxPorts,
    inbox: Option<InboxPages>,
    access: Access,
    closing: ShutdownSignal,
) -> OpenMailboxPorts {
    match inbox {
        Some(inbox) => OpenMailboxPorts::open(ports, &inbox, access, closing).await,
        None => OpenMailboxPorts::default(),
    }
}

/// Opens the port and reads the settings of a server with one backend.
async fn prepare(
    project: &Project,
    folder: &DataFolder,
    options: &ServeOptions,
    shared: &SharedPorts,
) -> anyhow::Result<(Endpoint, Configured)> {
    let entropy = Entropy::from_system();
    let endpoint = Endpoint::open(project, folder, options, &entropy).await?;
    let configured = configure(BackendInputs {
        project,
        addresses: &endpoint.addresses,
        keys: &endpoint.keys,
        entropy: &entropy,
        clock: &shared.clock,
        test_signing_key: None,
    })?;
    logging::log_notices(&configured.config.notices);
    Ok((endpoint, configured))
}
