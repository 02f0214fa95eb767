//! The drop-in replacement for GoTrue: its routes at the root path, its variables and its schema.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use axum::extract::Request;
use foundation::limit_store::LimitStoreUrl;
use gotrue_rs::app::EmailDelivery;
use gotrue_rs::config::{Config, ListenAddress, ReloadSettings};
use gotrue_rs::store::migrate;
use tokio::net::TcpListener;
use tokio::signal::unix::SignalKind;
use tokio::sync::watch;
use tower::ServiceExt;

use crate::metrics::MetricSources;
use crate::otlp::OtlpExporter;
use crate::readiness::Readiness;
use crate::reload::{self, ConfigSource};
use crate::shutdown::{Shutdown, closing_grace};
use crate::{app, database, metrics, outbound, profiles, upkeep};
use http_edge::HttpLimits;
use http_edge::{self, ShutdownSignal};

/// Creates the schema if there is none; one that cannot be served is reported and left unchanged.
pub(crate) async fn migrate(config: &Config) -> anyhow::Result<()> {
    database::wait_until_reachable(&config.database).await?;
    let pool = database::build_migration_pool(&config.database).await?;
    let migrated = migrate::migrate_auth(&pool, &config.database.namespace).await?;
    if config.policy.mfa.recovery_codes.is_enabled() {
        migrate::migrate_recovery_codes(&pool, &config.database.namespace).await?;
    }
    pool.close().await;
    tracing::info!(?migrated, schema = config.database.namespace, "the schema is ready");
    Ok(())
}

/// Serves on the listener until a signal arrives.
/// With a `source`, settings are reloaded when it changes.
pub(crate) async fn serve(
    listener: TcpListener,
    mut config: Config,
    source: Option<ConfigSource>,
    telemetry: Option<OtlpExporter>,
) -> anyhow::Result<()> {
    let shutdown = Shutdown::new();
    begin_on_signals(&shutdown, source.as_ref().map(|_| &config.reloading)).context("listening for signals")?;
    shutdown.set_drain(config.shutdown_drain);
    let closing = shutdown.signal();
    profiles::apply_gotrue_profile(&mut config.policy);
    app::check_limit_store(&config).await?;
    let settings = database::resolve_pool_size(config.database.clone()).await;
    let pool = database::build_pool(&settings, &config.policy.api)?;
    let readiness =
        Arc::new(Readiness::new(database::build_probe_pool(&settings, &config.policy.api)?, false, &shutdown));
    let limits = HttpLimits { closing_grace: closing_grace(config.shutdown_drain), ..HttpLimits::behind_gateway() };
    let delivery = EmailDelivery::Synchronous(outbound::build_mailer_or_discard(&config)?);
    if config.limit_store.url == LimitStoreUrl::Postgres {
        create_limit_counters(&config).await?;
    }
    let replica = database::build_replica(&settings, &config.policy.api)?;
    let shared = app::SharedPorts::start()?;
    let sources =
        MetricSources { pool: pool.clone(), hashing: Arc::clone(&shared.hashing), outbox: None, storage: None };
    let app = app::build(&config, &shared, pool.clone(), delivery)?.with_replica(replica);
    let (replace, current) = watch::channel(Arc::new(app::with_limit_store(app, &config)?));
    let upkeep = upkeep::start(current.clone(), None, closing.clone());
    let http = Arc::clone(&current.borrow().http);
    let router = gotrue_rs::reloadable_router(move || current.borrow().clone());
    let mut tasks = Vec::new();
    if let Some(listen) = &config.metrics {
        tasks.push(serve_metrics(listen, sources.clone(), closing.clone()).await?);
    }
    if let Some(telemetry) = telemetry {
        tasks.push(telemetry.start(http, sources, closing.clone()));
    }
    tracing::info!(address = %listener.local_addr()?, "serving the auth API");
    let reloading = source.map(|source| http_edge::spawn_task(reload::run(source, config, replace, closing.clone())));
    http_edge::serve(listener, closing, limits, move |request: Request| {
        let (router, readiness) = (router.clone(), Arc::clone(&readiness));
        async move {
            if let Some(response) = readiness.answer(request.method(), request.uri().path()).await {
                return response;
            }
            let (started, method) = (Instant::now(), request.method().clone());
            let Ok(mut response) = router.oneshot(request).await;
            readiness.close_if_draining(&mut response);
            metrics::record_response("auth", &method, &response, started.elapsed());
            response
        }
    })
    .await;
    for task in tasks {
        task.await?;
    }
    if let Some(reloading) = reloading {
        reloading.await?;
    }
    upkeep.await?;
    pool.close().await;
    Ok(())
}

/// Begins the shutdown on signals: as in GoTrue also on SIGHUP, unless that reloads settings.
fn begin_on_signals(shutdown: &Shutdown, reloading: Option<&ReloadSettings>) -> std::io::Result<()> {
    let is_hangup = |settings: &ReloadSettings| settings.signal_number == SignalKind::hangup().as_raw_value();
    if reloading.is_some_and(|settings| settings.signal_enabled && is_hangup(settings)) {
        shutdown.begin_on_signals()
    } else {
        shutdown.begin_on_signals_and_hangup()
    }
}

/// Creates schema `basalt`, which has the counters of rate limits.
async fn create_limit_counters(config: &Config) -> anyhow::Result<()> {
    let pool = database::build_migration_pool(&config.database).await?;
    let created = platform::store::migrate::migrate_basalt(&pool).await.context(
        "creating schema basalt for GOTRUE_RATE_LIMIT_STORE_URL=postgres; another store or no store needs no schema",
    );
    pool.close().await;
    created.map(drop)
}

/// Serves `/metrics` on its own port.
pub(crate) async fn serve_metrics(
    listen: &ListenAddress,
    sources: MetricSources,
    closing: ShutdownSignal,
) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    let listener = bind(listen).await.context("listening for metrics")?;
    telemetry::metrics::enable();
    tracing::info!(address = %listener.local_addr()?, "serving metrics at /metrics");
    Ok(http_edge::spawn_task(http_edge::serve(listener, closing, HttpLimits::default(), move |request: Request| {
        let sources = sources.clone();
        let path = request.uri().path().to_owned();
        async move { metrics::respond(&sources, &path).await }
    })))
}

/// Binds a TCP listener.
/// An empty host means every address of this machine, of both families if the system has them.
pub(crate) async fn bind(listen: &ListenAddress) -> anyhow::Result<TcpListener> {
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
