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
use tower::ServiceExt;

use crate::listen::{self, Closing};
use crate::{database, metrics, outside, profiles, shutdown, upkeep};

/// Makes the schema where there is none; where it differs from ours, says how and changes nothing.
pub async fn migrate(config: &Config) -> anyhow::Result<()> {
    let pool = database::pool(&config.database, config.policy.api.max_request_duration)?;
    let migrated = migrate::auth(&pool, &config.database.namespace).await?;
    pool.close().await;
    tracing::info!(?migrated, schema = config.database.namespace, "the schema is up to date");
    Ok(())
}

/// Serves until a signal ends it.
pub async fn serve(mut config: Config) -> anyhow::Result<()> {
    let closing = shutdown::on_signal().context("listening for signals")?;
    profiles::gotrue(&mut config.policy);
    let pool = Pool::new(database::pool(&config.database, config.policy.api.max_request_duration)?);
    let listener = bind(&config.listen).await?;
    let metrics = config.metrics.take();
    let delivery = Delivery::AtOnce(outside::mail_server_or_nobody(&config)?);
    let app = Arc::new(build(config, pool.clone(), delivery)?);
    let upkeep = upkeep::start(Arc::clone(&app), closing.clone());
    let router = gotrue_rs::router(app);
    let figures = match &metrics {
        Some(listen) => Some(serve_metrics(listen, None, closing.clone()).await?),
        None => None,
    };
    tracing::info!(address = %listener.local_addr()?, "serving the auth API");
    listen::serve(listener, closing, move |request: Request| {
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
    upkeep.await?;
    pool.close().await;
    Ok(())
}

/// The application that the settings describe.
pub fn build(config: Config, pool: Pool, delivery: Delivery) -> anyhow::Result<App> {
    let ports = Ports {
        pool,
        clock: Arc::new(SystemClock),
        entropy: Entropy::from_system(),
        hashing: Arc::new(HashingPool::for_this_machine().context("starting the threads for hashing")?),
        http: outside::http(&config)?,
        delivery,
    };
    let valid_methods = config.policy.jwt.valid_methods.clone();
    let keys = KeySettings {
        jwks: &config.jwt.keys,
        secret: &config.jwt.secret,
        key_id: &config.jwt.key_id,
        valid_methods: valid_methods.as_deref(),
    };
    App::build(config.policy, keys, ports).context("preparing the auth API")
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
    Ok(tokio::spawn(listen::serve(listener, closing, move |request: Request| {
        let (handle, outbox) = (handle.clone(), outbox.clone());
        let path = request.uri().path().to_owned();
        async move { metrics::page(&handle, outbox.as_deref(), &path).await }
    })))
}

/// An empty host means every address of this machine, of both families where the system has them.
async fn bind(listen: &Listen) -> anyhow::Result<TcpListener> {
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
