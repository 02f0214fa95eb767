//! `basalt serve` from start to end: folder, database, keys, settings, the services behind one door, and back again.

mod services;
mod source;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, bail};
use axum::extract::Request;
use gotrue_rs::config::{Config, Listen};
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::entropy::Entropy;
use tokio::net::TcpListener;

use crate::announce::{Announcement, Running};
use crate::api_keys::{self, ApiKeys};
use crate::cli::Project;
use crate::data_folder::DataFolder;
use crate::dev::consent;
use crate::dev::provider::Registration;
use crate::{gotrue, logging, profiles, shutdown};
use services::{Needs, Services};
pub use source::{Source, find};

/// What the command line asks for beside the configuration.
#[derive(Debug, Clone)]
pub struct Wishes {
    /// In the place of the configured port.
    pub port: Option<u16>,
    /// Keep nothing. The database is one of our own, whatever the environment names.
    pub ephemeral: bool,
    /// The database, in the place of the one that the environment names.
    pub database_url: Option<String>,
    /// One line of JSON on standard output.
    pub json: bool,
}

/// What is known before the database answers.
struct Prepared {
    listener: TcpListener,
    url: String,
    keys: Arc<ApiKeys>,
    config: Config,
    provider: Option<Registration>,
    consent: Option<consent::Page>,
}

/// Serves until a signal ends it.
pub async fn serve(project: Project, wishes: Wishes) -> anyhow::Result<()> {
    let closing = shutdown::on_signal().context("listening for signals")?;
    shutdown::ignore_hangup().context("listening for SIGHUP")?;
    let entropy = Entropy::from_system();
    let folder =
        if wishes.ephemeral { DataFolder::throw_away(&entropy.base32(12))? } else { DataFolder::open(&project.data)? };
    // The database takes longest to start, so everything else is done meanwhile.
    let source = tokio::task::spawn_blocking(find(&project, &folder, wishes.ephemeral, wishes.database_url.as_deref()));
    let prepared = prepare(&project, &folder, wishes.port, &entropy).await;
    let source = source.await.context("starting the database")??;
    let Prepared { listener, url, keys, mut config, provider, consent } = prepared?;
    let pool = source.open(&mut config).await?;

    let needs =
        Needs { project: &project, keys: &keys, pool: pool.clone(), closing: closing.clone(), provider, consent };
    let Services { front, worker, upkeep, outbox } = Services::start(&config, needs)?;
    let figures = match project.file.basalt.metrics_port {
        Some(port) => {
            let listen = Listen { host: project.file.host().to_string(), port };
            Some(gotrue::serve_metrics(&listen, Some(outbox), closing.clone()).await?)
        }
        None => None,
    };
    announce(&folder, &url, &keys, &source, wishes.json)?;
    let limits = project.file.basalt.http.clone();
    http_edge::serve(listener, closing, limits, move |request: Request| Arc::clone(&front).answer(request)).await;

    for task in [figures, Some(worker), Some(upkeep)].into_iter().flatten() {
        task.await.context("ending what runs beside the requests")?;
    }
    Running::remove(folder.path());
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
    let keys = api_keys::open_or_make(folder.path(), &project.given_keys(), entropy, SystemClock.now())?;
    let mut config = project.settings(&url, &keys)?;
    logging::tell(&config.notices);
    profiles::serve(&mut config.policy, &project.file.basalt);
    let names = &project.file.basalt.stood_in_for;
    check_development_pages(project, &config)?;
    let provider = (!names.is_empty()).then(|| {
        let registration = Registration::new(&origin(listening), &config.policy.site.external_url, entropy);
        profiles::stand_in(&mut config.policy, names, &registration);
        registration
    });
    let consent_url = format!("{url}{}", consent::PATH);
    let consent = profiles::ask_for_consent_at(&mut config.policy, &consent_url).then(|| {
        tracing::info!(
            "{consent_url} asks for consent; auth.oauth_server.authorization_url_path names a page of yours"
        );
        consent::Page::new(&url, &keys.publishable_key)
    });
    Ok(Prepared { listener, url, keys: Arc::new(keys), config, provider, consent })
}

/// Refuses a development provider that nobody could open, and warns of mail that nobody could read.
fn check_development_pages(project: &Project, config: &Config) -> anyhow::Result<()> {
    let basalt = &project.file.basalt;
    if profiles::has_development_pages(config, basalt) {
        return Ok(());
    }
    if !basalt.stood_in_for.is_empty() {
        bail!(
            "[basalt.provider] stands_in_for needs the development pages, which are off where site_url or external_url is no \
             address of this machine or mail goes to a mail server: leave it out, or set development_pages = true under [basalt]"
        );
    }
    if config.smtp.is_none() && basalt.inbox_token.is_none() {
        tracing::warn!(
            "mail is kept and shown to nobody: set [auth.email.smtp], or development_pages or an inbox token under [basalt]"
        );
    }
    Ok(())
}

/// How this machine itself reaches the server.
fn origin(listening: SocketAddr) -> String {
    let ip = match listening.ip() {
        ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, listening.port()))
}

fn announce(folder: &DataFolder, url: &str, keys: &ApiKeys, source: &Source, json: bool) -> anyhow::Result<()> {
    let database_url = source.operators_url();
    let announcement = Announcement::new(url, keys, Some(&database_url));
    let text = if json { announcement.line()? } else { announcement.text("Basalt is ready.") };
    let running = Running { url: url.to_owned(), database_url: database_url.clone() };
    running.write(folder.path()).context("writing into the data folder")?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("writing to standard output")
}
