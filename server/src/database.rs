//! The pool of connections, as the settings want it.

use std::time::Duration;

use anyhow::Context;
use gotrue_rs::config::Database;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};

/// Connections where the operator sets no limit: enough to keep a database busy, few enough for its own limit of 100.
const CONNECTIONS: u32 = 40;
/// A connection that rested this long may have died with its server, and is tried before it is used.
const SUSPECT: Duration = Duration::from_secs(1);

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

/// A pool that connects when it is first used. A statement that runs longer than `deadline` is stopped by the database:
/// whoever asked for it is gone. Zero: none is.
pub fn pool(settings: &Database, deadline: Duration) -> anyhow::Result<PgPool> {
    let options: PgConnectOptions =
        settings.url.reveal().parse().context(
            "the database's URL cannot be used; it has the form postgresql://user:password@host:5432/database",
        )?;
    let options = options.application_name("basalt").options([
        ("search_path", settings.namespace.as_str()),
        ("statement_timeout", &deadline.as_millis().to_string()),
    ]);
    let or_none = |length: Duration| (!length.is_zero()).then_some(length);
    let most = if settings.max_pool_size == 0 { CONNECTIONS } else { settings.max_pool_size };
    let wait = or_none(deadline).unwrap_or(Duration::from_secs(30));
    let pool = PgPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(wait)
        .max_lifetime(or_none(settings.conn_max_lifetime))
        .idle_timeout(or_none(settings.conn_max_idle_time).or(Some(Duration::from_mins(10))))
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move { Ok(meta.idle_for < SUSPECT || connection.ping().await.is_ok()) })
        })
        .connect_lazy_with(options);
    Ok(pool)
}
