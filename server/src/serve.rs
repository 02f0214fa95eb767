//! `basalt serve` from start to end: folder, database, keys, settings, the services behind one door, and back again.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use axum::extract::Request;
use functions_rs::{ApiKey, Functions, TrustedProxies};
use gotrue_rs::app::{App, Delivery};
use gotrue_rs::config::{Config, Listen};
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::outbox::{Destination, Outbox};
use gotrue_rs::store::migrate;
use gotrue_rs::store::outbox::Table;
use gotrue_rules::domain::secret::Secret;
use sqlx::PgPool;
use tokio::net::TcpListener;

use crate::announce::{Announcement, Running};
use crate::api_keys::{self, ApiKeys, Gateway};
use crate::assets::{Shop, Site};
use crate::cli::Project;
use crate::data_folder::DataFolder;
use crate::dev::{Dev, Inbox};
use crate::embedded_postgres::{EmbeddedPostgres, Options, Search};
use crate::front::{Front, MailFiles};
use crate::{database, gotrue, listen, logging, outside, profiles, shutdown};

/// The role that owns and uses the tables.
const ROLE: &str = "supabase_auth_admin";

/// What the command line asks for beside the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Wishes {
    /// In the place of the configured port.
    pub port: Option<u16>,
    /// Keep nothing.
    pub ephemeral: bool,
    /// One line of JSON on standard output.
    pub json: bool,
}

/// Where the data comes from.
enum Source {
    /// The operator's server.
    Given(String),
    /// Ours, started and stopped with us.
    Own(Box<EmbeddedPostgres>),
}

/// What is known before the database answers.
struct Prepared {
    listener: TcpListener,
    url: String,
    keys: Arc<ApiKeys>,
    config: Config,
    mails: MailFiles,
}

/// Serves until a signal ends it.
pub async fn serve(project: Project, wishes: Wishes) -> anyhow::Result<()> {
    let closing = shutdown::on_signal().context("listening for signals")?;
    let entropy = Entropy::from_system();
    let folder = if wishes.ephemeral {
        DataFolder::throw_away(&format!("basalt-{}", entropy.base32(12)))?
    } else {
        DataFolder::open(&project.data)?
    };
    // The database takes longest to start, so everything else is done meanwhile.
    let source = tokio::task::spawn_blocking(source(&project, &folder, wishes.ephemeral));
    let prepared = prepare(&project, &folder, wishes.port, &entropy).await;
    let source = source.await.context("starting the database")??;
    let Prepared { listener, url, keys, mut config, mails } = prepared?;
    config.database.url = Secret::from(source.url(ROLE).as_str());
    source.prepare_roles(&config).await?;
    let pool = database::pool(&config.database, config.policy.api.max_request_duration)?;
    migrate::auth(&pool, &config.database.namespace).await?;
    migrate::basalt(&pool).await?;

    let figures = match project.file.basalt.metrics_port {
        Some(port) => {
            let listen = Listen { host: project.file.host().to_string(), port };
            Some(gotrue::serve_metrics(&listen, closing.clone()).await?)
        }
        None => None,
    };
    let site_url = config.policy.site.site_url.clone();
    let mail_server = outside::mail_server(&config)?;
    let outbox = Arc::new(outbox(&pool, mail_server.is_some(), &entropy));
    let worker = mail_server.map(|mail_server| {
        let mut closing = closing.clone();
        let stop = async move { drop(closing.wait_for(|closing| *closing).await) };
        tokio::spawn(outbox.worker(mail_server).run(stop))
    });
    let app = Arc::new(gotrue::build(config, pool.clone(), Delivery::Outbox(Arc::clone(&outbox)))?);
    let shop = Shop::open(&Site { url: "", key: &keys.publishable_key, site_url: &site_url });
    let inbox = worker.is_none().then(|| Arc::new(outbox.inbox()) as Arc<dyn Inbox>);
    let dev = Dev::new(inbox.filter(|_| project.file.inbox_enabled()), project.file.basalt.inbox_token.clone());
    let front = Arc::new(door(&project, &app, &keys, (shop, dev, mails)));
    if project.file.basalt.shop_owner.is_none() {
        tracing::warn!("nobody is told of submissions: set [basalt.shop] owner in config.toml to an address");
    }
    announce(&folder, &url, &keys, &source, wishes.json)?;
    listen::serve(listener, closing, move |request: Request| Arc::clone(&front).answer(request)).await;

    if let Some(figures) = figures {
        figures.await?;
    }
    if let Some(worker) = worker {
        worker.await.context("delivering mails")?;
    }
    Running::remove(folder.path());
    pool.close().await;
    tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
    Ok(())
}

/// What finds the database or starts it: to be run on a thread that may wait.
fn source(project: &Project, folder: &DataFolder, ephemeral: bool) -> impl FnOnce() -> anyhow::Result<Source> + use<> {
    let given = project.vars.get("DATABASE_URL").filter(|url| !url.is_empty()).map(str::to_owned);
    let variable = |name: &str| project.vars.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
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
    fn url(&self, role: &str) -> String {
        match self {
            Self::Given(url) => url.clone(),
            Self::Own(postgres) => postgres.url(role),
        }
    }

    /// In a database of our own the roles are ours to make.
    async fn prepare_roles(&self, config: &Config) -> anyhow::Result<()> {
        let Self::Own(postgres) = self else { return Ok(()) };
        let mut settings = config.database.clone();
        settings.url = Secret::from(postgres.url(EmbeddedPostgres::SUPERUSER).as_str());
        settings.max_pool_size = 1;
        let pool = database::pool(&settings, config.policy.api.max_request_duration)?;
        migrate::roles(&pool, postgres.password()).await?;
        pool.close().await;
        Ok(())
    }

    fn stop(&self) {
        if let Self::Own(postgres) = self {
            postgres.stop();
        }
    }
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
    let port = listener.local_addr()?.port();
    let url = project.api_url(port);
    let keys = api_keys::open_or_make(folder.path(), &project.given_keys(), entropy, SystemClock.now())?;
    let mails = MailFiles::new(entropy);
    let mails_url = format!("{}{}", project.own_url(port), mails.mount());
    let (mut config, settings) = project.settings(&url, &mails_url, &keys)?;
    logging::tell(&config.notices);
    profiles::serve(&mut config.policy, &project.file.basalt);
    Ok(Prepared { listener, url, keys: Arc::new(keys), config, mails: mails.with(settings.mails) })
}

/// Mails are rows of the writes that ask for them; without a mail server they stay where the inbox shows them.
fn outbox(pool: &PgPool, has_mail_server: bool, entropy: &Entropy) -> Outbox {
    let destination = if has_mail_server { Destination::Server } else { Destination::Inbox };
    Outbox::new(Table::new(pool.clone()), Arc::new(SystemClock), entropy.fork(), destination)
}

/// Everything behind one door.
fn door(project: &Project, app: &Arc<App>, keys: &Arc<ApiKeys>, (shop, dev, mails): (Shop, Dev, MailFiles)) -> Front {
    let proxies = TrustedProxies::new(project.file.basalt.trusted_proxies.iter().copied());
    let verifying = Arc::clone(app);
    let gateway =
        Gateway::new(Arc::clone(keys), move |token| verifying.keys.verify(token, verifying.clock.now()).is_ok());
    Front {
        auth: gotrue_rs::router(Arc::clone(app)),
        functions: functions_rs::router(functions(project, app, keys, proxies.clone())),
        shop,
        mails,
        dev,
        gateway,
        proxies,
        entropy: app.entropy.fork(),
    }
}

/// The functions that are built in, as `[functions.NAME]` wants them.
fn functions(project: &Project, app: &Arc<App>, keys: &ApiKeys, proxies: TrustedProxies) -> Functions {
    let key = |key: &str, is_secret| ApiKey { key: Secret::from(key), is_secret };
    let known = vec![key(&keys.publishable_key, false), key(&keys.secret_key, true)];
    let checking = Arc::clone(app);
    let check_token = Arc::new(move |token: &str, now| checking.keys.verify(token, now).ok());
    let verifier = Arc::new(functions_rs::Credentials::new(known, check_token));
    let functions = Functions::new(verifier, app.clock.clone(), app.entropy.fork()).trusting(proxies);
    for (name, settings) in project.file.functions() {
        if settings.enabled && !functions.names().any(|known| known == name) {
            tracing::warn!(
                "[functions.{name}] names no function of this program; functions of your own are not run yet"
            );
        }
    }
    functions
}

fn announce(folder: &DataFolder, url: &str, keys: &ApiKeys, source: &Source, json: bool) -> anyhow::Result<()> {
    let database_url = source.url(EmbeddedPostgres::SUPERUSER);
    let announcement = Announcement::new(url, keys, Some(&database_url));
    let text = if json { announcement.line()? } else { announcement.text("Basalt is ready.") };
    let running = Running { url: url.to_owned(), database_url: database_url.clone() };
    running.write(folder.path()).context("writing into the data folder")?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("writing to standard output")
}
