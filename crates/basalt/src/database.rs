//! Connection pools, configured by the settings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use foundation::database_url::{DatabaseUrl, SessionTarget};
use foundation::error_chain::ErrorChain;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rules::domain::policy::ApiPolicy;
use platform::store::{Pool, PoolOptions, Replica, SessionSettings, StatementMode, is_temporary, open_connection};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool, Row};

use crate::database_tls::with_trusted_roots;

/// Default pool size: enough to keep a database busy, below its own default limit of 100.
const DEFAULT_POOL_SIZE: u32 = 40;
/// Connections of a server that are not in its pool: one of probes, two while indexes are created.
const CONNECTIONS_BESIDE_POOL: u32 = 3;
/// Statement timeout of an import or an export.
const BULK_STATEMENT_TIMEOUT: Duration = Duration::from_hours(1);
/// The largest number of databases that are created or dropped at a time.
const ADMINISTRATION_CONNECTIONS: u32 = 4;
/// The idle time after which such a connection is closed.
///
/// Each takes some megabytes of the database's memory.
const ADMINISTRATION_IDLE_TIMEOUT: Duration = Duration::from_secs(3);
/// The largest number of connections with which rate limits are counted.
const LIMITS_CONNECTIONS: u32 = 4;
/// Timeout of counting, which ends earlier by the setting of the store.
const LIMITS_STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for acquiring the connection that migrates the schema.
const MIGRATION_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval between attempts to reach a database that is down at the start.
const WAIT_INTERVAL: Duration = Duration::from_millis(200);
/// The interval between log lines while it is waited for.
const WAIT_LOG_INTERVAL: Duration = Duration::from_secs(5);
/// The limits of the time that the test of an idle connection may take.
const SHORTEST_TEST: Duration = Duration::from_millis(100);
const LONGEST_TEST: Duration = Duration::from_secs(10);

/// Resolves a pool size that is configured as a percentage of the database's connection limit.
/// If the limit cannot be read, the configured absolute size stays.
pub(crate) async fn resolve_pool_size(mut settings: DatabaseSettings) -> DatabaseSettings {
    if settings.conn_percentage == 0 {
        return settings;
    }
    match fetch_max_connections(&settings).await {
        Ok(allowed) => {
            settings.max_pool_size = (allowed * u32::from(settings.conn_percentage) / 100).max(1);
            tracing::info!(allowed, most = settings.max_pool_size, "sized the pool by GOTRUE_DB_CONN_PERCENTAGE");
        }
        Err(error) => {
            tracing::error!(
                error = %ErrorChain(error.as_ref()),
                "GOTRUE_DB_CONN_PERCENTAGE is ignored: reading max_connections from the database failed"
            );
        }
    }
    settings
}

/// Resolves the pool size of one of several servers.
///
/// It is a share of the connections that clients may open.
///
/// A configured size stays, and the default if `replicas` is not known. If the limits cannot be read, the default applies.
pub(crate) async fn divide_connections(mut settings: DatabaseSettings, replicas: Option<u32>) -> DatabaseSettings {
    let Some(replicas) = replicas.filter(|_| settings.max_pool_size == 0) else { return settings };
    match fetch_client_connections(&settings).await {
        Ok(allowed) => {
            settings.max_pool_size = (allowed / replicas.max(1)).saturating_sub(CONNECTIONS_BESIDE_POOL).max(1);
            tracing::info!(
                allowed,
                replicas,
                most = settings.max_pool_size,
                "sized the pool: connections that the database allows to clients, divided by [basalt.replicas] expected, less those for \
                 probes and indexes"
            );
        }
        Err(error) => {
            tracing::error!(
                error = %ErrorChain(error.as_ref()),
                most = DEFAULT_POOL_SIZE,
                "reading max_connections from the database failed, the pool has its default size"
            );
        }
    }
    settings
}

/// Returns the number of connections that roles without special rights may open together.
async fn fetch_client_connections(settings: &DatabaseSettings) -> anyhow::Result<u32> {
    let mut connection = connect_for_limits(settings).await?;
    // `reserved_connections` exists since PostgreSQL 16.
    let sql = "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                      - COALESCE(current_setting('reserved_connections', true), '0')::int";
    let allowed: i32 = sqlx::raw_sql(sql).fetch_one(&mut connection).await?.try_get(0)?;
    connection.close().await?;
    Ok(u32::try_from(allowed).unwrap_or(1))
}

async fn fetch_max_connections(settings: &DatabaseSettings) -> anyhow::Result<u32> {
    let mut connection = connect_for_limits(settings).await?;
    let row = sqlx::raw_sql("SHOW max_connections").fetch_one(&mut connection).await?;
    let allowed: String = row.try_get(0)?;
    connection.close().await?;
    Ok(allowed.parse()?)
}

/// Connects to the server that accepts writes.
///
/// Statements on the connection must not be prepared: a pooler would leave them to other clients.
async fn connect_for_limits(settings: &DatabaseSettings) -> anyhow::Result<PgConnection> {
    let pool = Pool::new(PoolOptions { session: None, ..pool_options(settings, Duration::ZERO)? });
    Ok(open_connection(pool.find_server().await?).await?)
}

/// Waits until the database accepts connections, as long as the settings allow.
///
/// # Errors
/// The database cannot be used, and waiting does not help (a wrong password) or took too long.
pub(crate) async fn wait_until_reachable(settings: &DatabaseSettings) -> anyhow::Result<()> {
    let pool = Pool::new(pool_options(settings, Duration::ZERO)?);
    let (started_at, mut logged_at) = (Instant::now(), None::<Instant>);
    loop {
        let Err(cause) = pool.find_server().await.map(drop) else { break };
        if !is_temporary(&cause) || started_at.elapsed() >= settings.start_timeout {
            return Err(cause).context("connecting to the database");
        }
        if logged_at.is_none_or(|at| at.elapsed() >= WAIT_LOG_INTERVAL) {
            let limit_ms = settings.start_timeout.as_millis();
            tracing::warn!(error = %ErrorChain(&cause), limit_ms, "waiting for the database");
            logged_at = Some(Instant::now());
        }
        tokio::time::sleep(WAIT_INTERVAL).await;
    }
    if logged_at.is_some() {
        tracing::info!(waited_ms = started_at.elapsed().as_millis(), "the database accepts connections");
    }
    Ok(())
}

/// Builds the replica for reads that may be stale, if the settings name one.
pub(crate) fn build_replica(settings: &DatabaseSettings, api: &ApiPolicy) -> anyhow::Result<Option<Arc<Replica>>> {
    if settings.replica_url.is_empty() {
        return Ok(None);
    }
    let (url, failover_wait) = (settings.replica_url.clone(), Duration::ZERO);
    let replica = DatabaseSettings { url, failover_wait, ..settings.clone() };
    let (url, statement_mode) = parse_url(&replica)?;
    let options = build_options(&url, url.target.unwrap_or_default(), session(&replica, api.max_request_duration))?;
    let pool = Pool::new(configure_pool(PoolOptions { statement_mode, ..options }, &replica, api));
    Ok(Some(Arc::new(Replica::new(pool, settings.replica_max_lag))))
}

/// Builds a pool that connects on first use.
/// The database cancels a statement that runs longer than a request may, because its client is gone by then.
pub(crate) fn build_pool(settings: &DatabaseSettings, api: &ApiPolicy) -> anyhow::Result<Pool> {
    Ok(Pool::new(configure_pool(pool_options(settings, api.max_request_duration)?, settings, api)))
}

fn configure_pool(usual: PoolOptions, settings: &DatabaseSettings, api: &ApiPolicy) -> PoolOptions {
    let or_none = |length: Duration| (!length.is_zero()).then_some(length);
    let deadline = or_none(api.max_request_duration);
    let most = if settings.max_pool_size == 0 { DEFAULT_POOL_SIZE } else { settings.max_pool_size };
    PoolOptions {
        acquire_timeout: deadline.map_or(usual.acquire_timeout, |deadline| deadline.min(usual.acquire_timeout)),
        // Half of a request's time stays for its statements.
        failover_wait: deadline.map_or(settings.failover_wait, |deadline| settings.failover_wait.min(deadline / 2)),
        should_expose_database_errors: !api.are_database_errors_hidden,
        max_lifetime: or_none(settings.conn_max_lifetime).or(usual.max_lifetime),
        idle_timeout: or_none(settings.conn_max_idle_time).or(usual.idle_timeout),
        ..usual.with_max_connections(most)
    }
}

/// Builds the pool with which rate limits are counted in the database.
///
/// It is a pool of its own, so that counting never waits for requests.
pub(crate) fn build_limits_pool(settings: &DatabaseSettings) -> anyhow::Result<Pool> {
    let usual = pool_options(settings, LIMITS_STATEMENT_TIMEOUT)?;
    Ok(Pool::new(PoolOptions {
        statement_timeout: LIMITS_STATEMENT_TIMEOUT,
        acquire_timeout: LIMITS_STATEMENT_TIMEOUT,
        ..usual.with_max_connections(LIMITS_CONNECTIONS)
    }))
}

/// Builds a pool of one connection for readiness checks.
/// It is a pool of its own, so that many requests do not make the server look unready.
pub(crate) fn build_probe_pool(settings: &DatabaseSettings, api: &ApiPolicy) -> anyhow::Result<Pool> {
    build_pool(&DatabaseSettings { max_pool_size: 1, failover_wait: Duration::ZERO, ..settings.clone() }, api)
}

/// Builds a pool for bulk work by one caller, with a statement timeout of one hour.
pub(crate) fn build_bulk_pool(settings: &DatabaseSettings) -> anyhow::Result<Pool> {
    let usual = pool_options(settings, Duration::ZERO)?;
    Ok(Pool::new(PoolOptions {
        statement_timeout: BULK_STATEMENT_TIMEOUT,
        ..usual.with_max_connections(DEFAULT_POOL_SIZE)
    }))
}

/// Builds a pool of one connection that stays the same while it is idle: a session of the database.
pub(crate) fn build_session_pool(settings: &DatabaseSettings) -> anyhow::Result<Pool> {
    let usual = pool_options(settings, Duration::ZERO)?;
    Ok(Pool::new(PoolOptions {
        statement_timeout: BULK_STATEMENT_TIMEOUT,
        statement_mode: StatementMode::Prepare,
        max_lifetime: None,
        idle_timeout: None,
        test_after_idle: None,
        ..usual.with_max_connections(1)
    }))
}

/// Builds a pool for creating and dropping databases.
///
/// Of several servers it uses the one that accepts writes now.
pub(crate) async fn build_administration_pool(settings: &DatabaseSettings) -> anyhow::Result<PgPool> {
    let server = find_server(PoolOptions { session: None, ..pool_options(settings, Duration::ZERO)? }).await?;
    Ok(PgPoolOptions::new()
        .max_connections(ADMINISTRATION_CONNECTIONS)
        .idle_timeout(ADMINISTRATION_IDLE_TIMEOUT)
        .acquire_timeout(MIGRATION_ACQUIRE_TIMEOUT)
        .connect_lazy_with(server))
}

/// Builds a pool of one connection for migrating the schema.
///
/// Of several servers it uses the one that accepts writes.
/// Migrations set what they need in their transactions, so that they run through a pooler.
pub(crate) async fn build_migration_pool(settings: &DatabaseSettings) -> anyhow::Result<PgPool> {
    let server = find_server(PoolOptions { session: None, ..pool_options(settings, Duration::ZERO)? }).await?;
    Ok(PgPoolOptions::new().max_connections(1).acquire_timeout(MIGRATION_ACQUIRE_TIMEOUT).connect_lazy_with(server))
}

/// Returns the settings of connections to the server that is used now.
///
/// A single server is returned without connecting.
async fn find_server(options: PoolOptions) -> anyhow::Result<PgConnectOptions> {
    if options.other_servers.is_empty() {
        return Ok(options.connect);
    }
    Ok(Pool::new(options).find_server().await.context("connecting to the database")?.clone())
}

/// The options of a pool that writes.
fn pool_options(settings: &DatabaseSettings, deadline: Duration) -> anyhow::Result<PoolOptions> {
    let (url, statement_mode) = parse_url(settings)?;
    let options = build_options(&url, url.target_for_writes(), session(settings, deadline))?;
    Ok(PoolOptions { statement_mode, ..options })
}

fn session(settings: &DatabaseSettings, deadline: Duration) -> SessionSettings {
    SessionSettings { search_path: settings.namespace.clone(), statement_timeout: deadline }
}

fn parse_url(settings: &DatabaseSettings) -> anyhow::Result<(DatabaseUrl, StatementMode)> {
    let (mode, url) = StatementMode::take_from_url(settings.url.reveal()).map_err(anyhow::Error::msg)?;
    let url = DatabaseUrl::parse(&url).map_err(|error| anyhow::anyhow!("the database's URL {error}"))?;
    Ok((url, mode))
}

fn build_options(url: &DatabaseUrl, target: SessionTarget, session: SessionSettings) -> anyhow::Result<PoolOptions> {
    let mut servers = connect_options(url)?;
    anyhow::ensure!(!servers.is_empty(), "the database's URL names no server");
    let usual = PoolOptions::new(servers.remove(0)).with_servers(servers, target).with_session(session);
    Ok(PoolOptions {
        connect_timeout: url.connect_timeout.unwrap_or(usual.connect_timeout),
        ping_timeout: url.keepalives.limit.map_or(usual.ping_timeout, |limit| limit.clamp(SHORTEST_TEST, LONGEST_TEST)),
        test_after_idle: url.keepalives.idle,
        ..usual
    })
}

/// The settings of connections to each server.
fn connect_options(url: &DatabaseUrl) -> anyhow::Result<Vec<PgConnectOptions>> {
    if !url.ignored.is_empty() {
        tracing::warn!(parameters = ?url.ignored, "parameters of the database's URL have no effect");
    }
    let for_server = |server: &Secret| {
        let options: PgConnectOptions = server.reveal().parse().context(
            "the database's URL cannot be used; it has the form postgresql://user:password@host:5432/database",
        )?;
        let options = with_trusted_roots(options, url.names_trusted_root)?;
        // A pooler refuses `extra_float_digits` at the start; the default of PostgreSQL loses no digit either.
        Ok(options.application_name("basalt").extra_float_digits(None))
    };
    url.servers.iter().map(for_server).collect()
}
