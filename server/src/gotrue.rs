//! The drop-in for the reference's auth server: its routes at the root path, its variables, its schema, nothing else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use axum::extract::Request;
use gotrue_rs::app::{App, Delivery, Ports};
use gotrue_rs::config::{Config, Listen};
use gotrue_rs::ports::clock::SystemClock;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::hashing::HashingPool;
use gotrue_rs::ports::keys::KeySettings;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::{Pool, migrate};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower::ServiceExt;

use crate::reload::{self, Source};
use crate::{database, metrics, outside, profiles, shutdown, upkeep};
use http_edge::HttpLimits;
use http_edge::{self, Closing};

/// Makes the schema where there is none; where it differs from ours, says how and changes nothing.
pub async fn migrate(config: &Config) -> anyhow::Result<()> {
    let pool = database::migration_pool(&config.database, config.policy.api.max_request_duration)?;
    let migrated = migrate::auth(&pool, &config.database.namespace).await?;
    pool.close().await;
    tracing::info!(?migrated, schema = config.database.namespace, "the schema is up to date");
    Ok(())
}

/// Serves there until a signal ends it. With a source of settings they are read again when it changes.
pub async fn serve(listener: TcpListener, mut config: Config, source: Option<Source>) -> anyhow::Result<()> {
    let closing = shutdown::on_signal().context("listening for signals")?;
    profiles::gotrue(&mut config.policy);
    let settings = database::sized(config.database.clone()).await;
    let pool = database::pool(&settings, &config.policy.api)?;
    let delivery = Delivery::AtOnce(outside::mail_server_or_nobody(&config)?);
    let (replace, current) = watch::channel(Arc::new(build(&config, pool.clone(), delivery)?));
    let upkeep = upkeep::start(current.clone(), closing.clone());
    let router = gotrue_rs::router_over(move || current.borrow().clone());
    let figures = match &config.metrics {
        Some(listen) => Some(serve_metrics(listen, None, closing.clone()).await?),
        None => None,
    };
    tracing::info!(address = %listener.local_addr()?, "serving the auth API");
    let reloading = source.map(|source| tokio::spawn(reload::run(source, config, replace, closing.clone())));
    http_edge::serve(listener, closing, HttpLimits::behind_gateway(), move |request: Request| {
        let router = router.clone();
        async move {
            let started = Instant::now();
            let Ok(response) = router.oneshot(request).await;
            metrics::answered("auth", response.status(), started.elapsed());
            response
        }
    })
    .await;
    if let Some(figures) = figures {
        figures.await?;
    }
    if let Some(reloading) = reloading {
        reloading.await?;
    }
    upkeep.await?;
    pool.close().await;
    Ok(())
}

/// The application that the settings describe.
pub fn build(config: &Config, pool: Pool, delivery: Delivery) -> anyhow::Result<App> {
    let ports = Ports {
        pool,
        clock: Arc::new(SystemClock),
        entropy: Entropy::from_system(),
        hashing: Arc::new(HashingPool::for_this_machine().context("starting the threads for hashing")?),
        http: outside::http(config)?,
        delivery,
    };
    App::build(config.policy.clone(), keys(config), ports).context("preparing the auth API")
}

/// The application that the settings describe in the place of another one, of which it keeps what has to last.
/// `same_way`: its requests to others leave as those of that one.
pub fn rebuild(before: &App, config: &Config, same_way: bool) -> anyhow::Result<App> {
    let http = if same_way { Arc::clone(&before.http) } else { outside::http(config)? };
    let delivery = Delivery::AtOnce(outside::mail_server_or_nobody(config)?);
    before.renewed(config.policy.clone(), keys(config), delivery, http).context("preparing the auth API")
}

fn keys(config: &Config) -> KeySettings<'_> {
    KeySettings {
        jwks: &config.jwt.keys,
        secret: &config.jwt.secret,
        key_id: &config.jwt.key_id,
        valid_methods: config.policy.jwt.valid_methods.as_deref(),
    }
}

/// `/metrics` on a port of its own.
pub async fn serve_metrics(
    listen: &Listen,
    outbox: Option<Arc<Outbox>>,
    closing: Closing,
) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    let listener = bind(listen).await.context("listening for metrics")?;
    let handle = Arc::new(metrics::collect()?);
    tracing::info!(address = %listener.local_addr()?, "serving metrics at /metrics");
    Ok(tokio::spawn(http_edge::serve(listener, closing, HttpLimits::default(), move |request: Request| {
        let (handle, outbox) = (handle.clone(), outbox.clone());
        let path = request.uri().path().to_owned();
        async move { metrics::page(&handle, outbox.as_deref(), &path).await }
    })))
}

/// Listens there. An empty host means every address of this machine, of both families where the system has them.
pub async fn bind(listen: &Listen) -> anyhow::Result<TcpListener> {
    let doing = || format!("listening on {}:{}", listen.host, listen.port);
    if listen.host.is_empty() {
        let everywhere = SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, listen.port));
        if let Ok(listener) = TcpListener::bind(everywhere).await {
            return Ok(listener);
        }
        return TcpListener::bind(("0.0.0.0", listen.port)).await.with_context(doing);
    }
    TcpListener::bind((listen.host.as_str(), listen.port)).await.with_context(doing)
}
