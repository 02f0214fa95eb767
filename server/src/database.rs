//! Connection pools, configured by the settings.

use std::time::Duration;

use anyhow::Context;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rs::store::{Pool, PoolOptions};
use gotrue_rules::domain::error::chain::ErrorChain;
use gotrue_rules::domain::policy::ApiPolicy;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};

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
    let mut connection = PgConnection::connect(settings.url.reveal()).await?;
    let allowed: String = sqlx::query_scalar("SHOW max_connections").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(allowed.parse()?)
}

/// Builds a pool that connects on first use.
/// The database cancels a statement that runs longer than a request may, because its client is gone by then.
pub(crate) fn build_pool(settings: &DatabaseSettings, api: &ApiPolicy) -> anyhow::Result<Pool> {
    let deadline = api.max_request_duration;
    let or_none = |length: Duration| (!length.is_zero()).then_some(length);
    let usual = PoolOptions::new(connect_options(settings, deadline)?);
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
    let usual = PoolOptions::new(connect_options(settings, Duration::ZERO)?);
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
        .connect_lazy_with(connect_options(settings, Duration::ZERO)?))
}

/// Builds a pool of one connection for migrating the schema.
pub(crate) fn build_migration_pool(settings: &DatabaseSettings, deadline: Duration) -> anyhow::Result<PgPool> {
    Ok(PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(MIGRATION_ACQUIRE_TIMEOUT)
        .connect_lazy_with(connect_options(settings, deadline)?))
}

fn connect_options(settings: &DatabaseSettings, deadline: Duration) -> anyhow::Result<PgConnectOptions> {
    let options: PgConnectOptions =
        settings.url.reveal().parse().context(
            "the database's URL cannot be used; it has the form postgresql://user:password@host:5432/database",
        )?;
    Ok(options.application_name("basalt").options([
        ("search_path", settings.namespace.as_str()),
        ("statement_timeout", &deadline.as_millis().to_string()),
    ]))
}
