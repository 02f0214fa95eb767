//! `basalt serve` from start to end: data folder, database, keys, settings, services, shutdown.

mod services;
mod source;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, bail};
use axum::extract::Request;
use gotrue_rs::config::{Config, ListenAddress};
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::entropy::Entropy;
use tokio::net::TcpListener;

use crate::announce::{Announcement, RunningServer};
use crate::api_keys::{self, ApiKeys};
use crate::data_folder::DataFolder;
use crate::dev::consent;
use crate::dev::provider::Registration;
use crate::project::Project;
use crate::{gotrue, logging, profiles, shutdown};
use services::{Dependencies, Services};
pub(crate) use source::{DatabaseSource, find_database};

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
    /// Print one line of JSON on standard output.
    pub json: bool,
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

/// Serves until a signal arrives.
pub(crate) async fn serve(project: Project, options: ServeOptions) -> anyhow::Result<()> {
    let closing = shutdown::watch_signals().context("listening for signals")?;
    shutdown::ignore_hangup().context("listening for SIGHUP")?;
    let entropy = Entropy::from_system();
    let folder = if options.ephemeral {
        DataFolder::open_ephemeral(&entropy.base32(12))?
    } else {
        DataFolder::open(&project.data)?
    };
    // Starting the database takes longest, so everything else is prepared concurrently.
    let source = tokio::task::spawn_blocking(find_database(
        &project,
        &folder,
        options.ephemeral,
        options.database_url.as_deref(),
    ));
    let prepared = prepare(&project, &folder, options.port, &entropy).await;
    let source = source.await.context("starting the database")??;
    let Prepared { listener, url, keys, mut config, provider, consent } = prepared?;
    let pool = source.open(&mut config).await?;

    let dependencies = Dependencies {
        project: &project,
        keys: &keys,
        pool: pool.clone(),
        closing: closing.clone(),
        provider,
        consent,
    };
    let Services { router: front, worker, upkeep, outbox } = Services::start(&config, dependencies)?;
    let figures = match project.file.basalt.metrics_port {
        Some(port) => {
            let listen = ListenAddress { host: project.file.host().to_string(), port };
            Some(gotrue::serve_metrics(&listen, Some(outbox), closing.clone()).await?)
        }
        None => None,
    };
    announce(&folder, &url, &keys, &source, options.json)?;
    let limits = project.file.basalt.http.clone();
    http_edge::serve(listener, closing, limits, move |request: Request| Arc::clone(&front).handle(request)).await;

    for task in [figures, Some(worker), Some(upkeep)].into_iter().flatten() {
        task.await.context("ending what runs beside the requests")?;
    }
    RunningServer::remove(folder.path());
    pool.close().await;
    tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
    Ok(())
}

async fn prepare(
    project: &Project,
    folder: &DataFolder,
    port: Option<u16>,
    entropy: &Entropy,
) -> anyhow::Result<Prepared> {
    let address = SocketAddr::new(project.file.host(), port.unwrap_or_else(|| project.file.port()));
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!(
            "listening on {address}: is another server there? --port N takes another port, --port 0 any that is free"
        )
    })?;
    let listening = listener.local_addr()?;
    let port = listening.port();
    let url = project.api_url(port);
    let keys = api_keys::load_or_create(folder.path(), &project.configured_keys(), entropy, SystemClock.now())?;
    let mut config = project.settings(&url, &keys)?;
    logging::log_notices(&config.notices);
    profiles::apply_serve_profile(&mut config.policy, &project.file.basalt);
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

fn announce(folder: &DataFolder, url: &str, keys: &ApiKeys, source: &DatabaseSource, json: bool) -> anyhow::Result<()> {
    let database_url = source.operator_url();
    let announcement = Announcement::new(url, keys, Some(&database_url));
    let text = if json { announcement.to_json_line()? } else { announcement.to_text("Basalt is ready.") };
    let running = RunningServer { url: url.to_owned(), database_url: database_url.clone() };
    running.write(folder.path()).context("writing into the data folder")?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("writing to standard output")
}
