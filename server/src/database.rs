//! The pool of connections, as the settings want it.

use std::time::Duration;

use anyhow::Context;
use gotrue_rs::config::Database;
use gotrue_rs::store::{Pool, PoolOptions};
use gotrue_rules::domain::policy::ApiPolicy;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};

/// Connections where the operator sets no limit: enough to keep a database busy, few enough for its own limit of 100.
const CONNECTIONS: u32 = 40;
/// How long a statement of an import or an export may take.
const BULK_STATEMENT: Duration = Duration::from_hours(1);
/// How long the connection for preparing the schema may take.
const MIGRATION_CONNECT: Duration = Duration::from_secs(10);

/// The settings with the most connections as a number, where they say it as a share of what the database allows. Where
/// that cannot be asked, the number that they also hold stays.
pub async fn sized(mut settings: Database) -> Database {
    if settings.conn_percentage == 0 {
        return settings;
    }
    match allowed(&settings).await {
        Ok(allowed) => {
            settings.max_pool_size = (allowed * u32::from(settings.conn_percentage) / 100).max(1);
            tracing::info!(allowed, most = settings.max_pool_size, "sized the pool by GOTRUE_DB_CONN_PERCENTAGE");
        }
        Err(error) => {
            tracing::error!(
                "GOTRUE_DB_CONN_PERCENTAGE is left out of account, for the database does not say how many connections it allows: {error:#}"
            );
        }
    }
    settings
}

async fn allowed(settings: &Database) -> anyhow::Result<u32> {
    let mut connection = PgConnection::connect(settings.url.reveal()).await?;
    let allowed: String = sqlx::query_scalar("SHOW max_connections").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(allowed.parse()?)
}

/// A pool that connects when it is first used. A statement that runs longer than a request may is stopped by the
/// database: whoever asked for it is gone.
pub fn pool(settings: &Database, api: &ApiPolicy) -> anyhow::Result<Pool> {
    let deadline = api.max_request_duration;
    let or_none = |length: Duration| (!length.is_zero()).then_some(length);
    let usual = PoolOptions::new(connect_options(settings, deadline)?);
    let most = if settings.max_pool_size == 0 { CONNECTIONS } else { settings.max_pool_size };
    Ok(Pool::new(PoolOptions {
        acquire_timeout: or_none(deadline)
            .map_or(usual.acquire_timeout, |deadline| deadline.min(usual.acquire_timeout)),
        shows_database_errors: !api.database_errors_hidden,
        max_lifetime: or_none(settings.conn_max_lifetime).or(usual.max_lifetime),
        idle_timeout: or_none(settings.conn_max_idle_time).or(usual.idle_timeout),
        ..usual.max_connections(most)
    }))
}

/// A pool for work in bulk by one caller, whose statements take as long as they need.
pub fn bulk_pool(settings: &Database) -> anyhow::Result<Pool> {
    let usual = PoolOptions::new(connect_options(settings, Duration::ZERO)?);
    Ok(Pool::new(PoolOptions { statement_timeout: BULK_STATEMENT, ..usual.max_connections(CONNECTIONS) }))
}

/// One connection for preparing the schema, as sqlx's own pool.
pub fn migration_pool(settings: &Database, deadline: Duration) -> anyhow::Result<PgPool> {
    Ok(PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(MIGRATION_CONNECT)
        .connect_lazy_with(connect_options(settings, deadline)?))
}

fn connect_options(settings: &Database, deadline: Duration) -> anyhow::Result<PgConnectOptions> {
    let options: PgConnectOptions =
        settings.url.reveal().parse().context(
            "the database's URL cannot be used; it has the form postgresql://user:password@host:5432/database",
        )?;
    Ok(options.application_name("basalt").options([
        ("search_path", settings.namespace.as_str()),
        ("statement_timeout", &deadline.as_millis().to_string()),
    ]))
}
