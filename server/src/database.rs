//! Connection pools, configured by the settings.

use std::time::Duration;

use anyhow::Context;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rs::store::{Pool, PoolOptions, SessionSettings, StatementMode};
use gotrue_rules::domain::error::chain::ErrorChain;
use gotrue_rules::domain::policy::ApiPolicy;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgPool, Row};

/// Default pool size: enough to keep a database busy, below its own default limit of 100.
const DEFAULT_POOL_SIZE: u32 = 40;
/// Statement timeout of an import or an export.
const BULK_STATEMENT_TIMEOUT: Duration = Duration::from_hours(1);
/// The largest number of databases that are created or dropped at a time.
const ADMINISTRATION_CONNECTIONS: u32 = 4;
/// Timeout for acquiring the connection that migrates the schema.
const MIGRATION_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

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

async fn fetch_max_connections(settings: &DatabaseSettings) -> anyhow::Result<u32> {
    let mut connection = parse_url(settings)?.0.connect().await?;
    // Not prepared: a pooler would leave the prepared statement to other clients.
    let row = sqlx::raw_sql("SHOW max_connections").fetch_one(&mut connection).await?;
    let allowed: String = row.try_get(0)?;
    connection.close().await?;
    Ok(allowed.parse()?)
}

/// Builds a pool that connects on first use.
/// The database cancels a statement that runs longer than a request may, because its client is gone by then.
pub(crate) fn build_pool(settings: &DatabaseSettings, api: &ApiPolicy) -> anyhow::Result<Pool> {
    let deadline = api.max_request_duration;
    let or_none = |length: Duration| (!length.is_zero()).then_some(length);
    let usual = pool_options(settings, deadline)?;
    let most = if settings.max_pool_size == 0 { DEFAULT_POOL_SIZE } else { settings.max_pool_size };
    Ok(Pool::new(PoolOptions {
        acquire_timeout: or_none(deadline)
            .map_or(usual.acquire_timeout, |deadline| deadline.min(usual.acquire_timeout)),
        should_expose_database_errors: !api.are_database_errors_hidden,
        max_lifetime: or_none(settings.conn_max_lifetime).or(usual.max_lifetime),
        idle_timeout: or_none(settings.conn_max_idle_time).or(usual.idle_timeout),
        ..usual.with_max_connections(most)
    }))
}

/// Builds a pool for bulk work by one caller, with a statement timeout of one hour.
pub(crate) fn build_bulk_pool(settings: &DatabaseSettings) -> anyhow::Result<Pool> {
    let usual = pool_options(settings, Duration::ZERO)?;
    Ok(Pool::new(PoolOptions {
        statement_timeout: BULK_STATEMENT_TIMEOUT,
        ..usual.with_max_connections(DEFAULT_POOL_SIZE)
    }))
}

/// Builds a pool for creating and dropping databases.
pub(crate) fn build_administration_pool(settings: &DatabaseSettings) -> anyhow::Result<PgPool> {
    Ok(PgPoolOptions::new()
        .max_connections(ADMINISTRATION_CONNECTIONS)
        .acquire_timeout(MIGRATION_ACQUIRE_TIMEOUT)
        .connect_lazy_with(parse_url(settings)?.0))
}

/// Builds a pool of one connection for migrating the schema.
/// Migrations set what they need in their transactions, so that they run through a pooler.
pub(crate) fn build_migration_pool(settings: &DatabaseSettings) -> anyhow::Result<PgPool> {
    Ok(PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(MIGRATION_ACQUIRE_TIMEOUT)
        .connect_lazy_with(parse_url(settings)?.0))
}

fn pool_options(settings: &DatabaseSettings, deadline: Duration) -> anyhow::Result<PoolOptions> {
    let (connect, statement_mode) = parse_url(settings)?;
    let session = SessionSettings { search_path: settings.namespace.clone(), statement_timeout: deadline };
    Ok(PoolOptions { statement_mode, ..PoolOptions::new(connect).with_session(session) })
}

fn parse_url(settings: &DatabaseSettings) -> anyhow::Result<(PgConnectOptions, StatementMode)> {
    let (mode, url) = StatementMode::take_from_url(settings.url.reveal()).map_err(anyhow::Error::msg)?;
    let options: PgConnectOptions = url
        .parse()
        .context("the database's URL cannot be used; it has the form postgresql://user:password@host:5432/database")?;
    // A pooler refuses this parameter of the start; the default of PostgreSQL loses no digit either.
    Ok((options.application_name("basalt").extra_float_digits(None), mode))
}
