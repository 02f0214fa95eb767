//! `basalt serve` from start to end: data folder, database, keys, settings, services, shutdown.

mod services;
mod source;
mod test_profile;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, bail};
use axum::extract::Request;
use gotrue_rs::config::{Config, ListenAddress};
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::store::Pool;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::announce::{Announcement, RunningServer};
use crate::api_keys::{self, ApiKeys};
use crate::data_folder::DataFolder;
use crate::dev::consent;
use crate::dev::provider::Registration;
use crate::embedded_postgres::TcpPort;
use crate::project::Project;
use crate::shutdown::Shutdown;
use crate::{gotrue, logging, profiles, shutdown};
use services::{Dependencies, Services};
pub(crate) use source::{DatabaseOptions, DatabaseSource, find_database};

/// Options of the command line that supplement the configuration.
#[derive(Debug, Clone)]
pub(crate) struct ServeOptions {
    /// Overrides the configured port.
    pub port: Option<u16>,
    /// Discard all data at the end.
    /// The database is always the embedded one, whatever the environment names.
    pub ephemeral: bool,
    /// Database URL; takes precedence over the one of the environment.
    pub database_url: Option<String>,
    /// The TCP port of the embedded database.
    pub database_port: TcpPort,
    /// Serve for a test run.
    pub test: Option<TestOptions>,
}

/// Options of `basalt serve --test`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestOptions {
    /// Use the keys that the Supabase CLI publishes.
    pub has_demo_keys: bool,
}

/// The state that is prepared while the database starts.
struct Prepared {
    listener: TcpListener,
    url: String,
    keys: Arc<ApiKeys>,
    config: Config,
    provider: Option<Registration>,
    consent: Option<consent::ConsentPage>,
}

/// A server that accepts requests.
pub(crate) struct Server {
    url: String,
    keys: Arc<ApiKeys>,
    folder: DataFolder,
    source: DatabaseSource,
    database_url: String,
    database_url_tcp: Option<String>,
    pool: Pool,
    serving: JoinHandle<()>,
    tasks: Vec<JoinHandle<()>>,
}

/// Serves until a signal arrives.
///
/// `json`: prints one line of JSON on standard output when ready. With `until_parent_ends` the end of the parent process
/// is such a signal.
pub(crate) async fn serve(
    project: Project,
    options: ServeOptions,
    json: bool,
    until_parent_ends: bool,
) -> anyhow::Result<()> {
    let parent = rustix::process::getppid();
    let shutdown = Shutdown::new();
    shutdown.begin_on_signals().context("listening for signals")?;
    shutdown::ignore_hangup().context("listening for SIGHUP")?;
    if until_parent_ends {
        shutdown.begin_after_parent(parent);
    }
    let server = Server::start(project, options, &shutdown).await?;
    // A server that was stopped during its start is not announced.
    if !shutdown.has_begun() {
        server.announce(json)?;
    }
    server.wait().await
}

impl Server {
    /// Starts database and services.
    pub(crate) async fn start(
        mut project: Project,
        options: ServeOptions,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Self> {
        if options.test.is_some() {
            test_profile::apply_to_project(&mut project);
        }
        let entropy = Entropy::from_system();
        let folder = if options.ephemeral {
            DataFolder::open_ephemeral(&entropy.base32(12))?
        } else {
            DataFolder::open(&project.data)?
        };
        // Starting the database takes longest, so everything else is prepared concurrently.
        let wanted = DatabaseOptions {
            ephemeral: options.ephemeral,
            url: options.database_url.as_deref(),
            port: options.database_port,
        };
        let source = tokio::task::spawn_blocking(find_database(&project, &folder, wanted));
        let prepared = prepare(&project, &folder, &options, &entropy).await;
        let source = source.await.context("starting the database")??;
        let Prepared { listener, url, keys, mut config, provider, consent } = prepared?;
        let pool = source.open(&mut config).await?;

        let closing = shutdown.signal();
        let dependencies = Dependencies {
            project: &project,
            keys: &keys,
            pool: pool.clone(),
            closing: closing.clone(),
            provider,
            consent,
        };
        let Services { router, worker, upkeep, outbox } = Services::start(&config, dependencies)?;
        let mut tasks = vec![worker, upkeep];
        if let Some(port) = project.file.basalt.metrics_port {
            let listen = ListenAddress { host: project.file.host().to_string(), port };
            tasks.push(gotrue::serve_metrics(&listen, Some(outbox), closing.clone()).await?);
        }
        let limits = project.file.basalt.http.clone();
        let handle = move |request: Request| Arc::clone(&router).handle(request);
        let serving = tokio::spawn(http_edge::serve(listener, closing, limits, handle));
        let (database_url, database_url_tcp) = (source.operator_url(), source.operator_tcp_url());
        Ok(Self { url, keys, folder, source, database_url, database_url_tcp, pool, serving, tasks })
    }

    /// Returns URLs and keys.
    pub(crate) fn announcement(&self) -> Announcement<'_> {
        let tcp_url = self.database_url_tcp.as_deref();
        Announcement::new(&self.url, &self.keys, Some(&self.database_url)).with_tcp_url(tcp_url)
    }

    /// Prints URLs and keys, and stores the URLs for `basalt status`.
    fn announce(&self, json: bool) -> anyhow::Result<()> {
        let announcement = self.announcement();
        let text = if json { announcement.to_json_line()? } else { announcement.to_text("Basalt is ready.") };
        let running = RunningServer {
            url: self.url.clone(),
            database_url: self.database_url.clone(),
            database_url_tcp: self.database_url_tcp.clone(),
        };
        running.write(self.folder.path()).context("writing into the data folder")?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).context("writing to standard output")
    }

    /// Waits for the shutdown, then stops the services and the database.
    pub(crate) async fn wait(self) -> anyhow::Result<()> {
        self.serving.await.context("serving requests")?;
        for task in self.tasks {
            task.await.context("ending a background task")?;
        }
        RunningServer::remove(self.folder.path());
        self.pool.close().await;
        let source = self.source;
        tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
        Ok(())
    }
}

async fn prepare(
    project: &Project,
    folder: &DataFolder,
    options: &ServeOptions,
    entropy: &Entropy,
) -> anyhow::Result<Prepared> {
    let address = SocketAddr::new(project.file.host(), options.port.unwrap_or_else(|| project.file.port()));
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!(
            "listening on {address}: is another server there? --port N takes another port, --port 0 any that is free"
        )
    })?;
    let listening = listener.local_addr()?;
    let port = listening.port();
    let url = if options.test.is_some() { project.local_url(port) } else { project.api_url(port) };
    let keys = if options.test.is_some_and(|test| test.has_demo_keys) {
        api_keys::demo_keys()
    } else {
        api_keys::load_or_create(folder.path(), &project.configured_keys(), entropy, SystemClock.now())?
    };
    let mut config = project.settings(&url, &keys)?;
    logging::log_notices(&config.notices);
    profiles::apply_serve_profile(&mut config.policy, &project.file.basalt);
    if options.test.is_some() {
        test_profile::apply_to_settings(&mut config, &project.file, &url)?;
    }
    let names = &project.file.basalt.stands_in_for;
    check_development_pages(project, &config)?;
    let provider = (!names.is_empty()).then(|| {
        let registration = Registration::new(&origin(listening), &config.policy.site.external_url, entropy);
        profiles::use_development_provider(&mut config.policy, names, &registration);
        registration
    });
    let consent_url = format!("{url}{}", consent::PATH);
    let consent = profiles::use_consent_page(&mut config.policy, &consent_url).then(|| {
        tracing::info!(
            consent_url,
            "using the built-in consent page; auth.oauth_server.authorization_url_path names another one"
        );
        consent::ConsentPage::new(&url, &keys.publishable_key)
    });
    Ok(Prepared { listener, url, keys: Arc::new(keys), config, provider, consent })
}

/// Rejects a development provider that is unreachable, and warns about mail that is unreadable.
fn check_development_pages(project: &Project, config: &Config) -> anyhow::Result<()> {
    let basalt = &project.file.basalt;
    if profiles::has_development_pages(config, basalt) {
        return Ok(());
    }
    if !basalt.stands_in_for.is_empty() {
        bail!(
            "[basalt.provider] stands_in_for needs the development pages, which are off where site_url or external_url is no \
             address of this machine or mail goes to a mail server: leave it out, or set development_pages = true under [basalt]"
        );
    }
    if config.smtp.is_none() && basalt.inbox_token.is_none() {
        tracing::warn!(
            "stored mail is unreadable: set [auth.email.smtp], or development_pages or an inbox token under [basalt]"
        );
    }
    Ok(())
}

/// Returns the server's URL as this machine itself reaches it.
fn origin(listening: SocketAddr) -> String {
    let ip = match listening.ip() {
        ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, listening.port()))
}
