//! Opens connections: those of the pool, and those for administration.
//!
//! The futures are boxed: the driver's code that opens connections is then in this crate only, and not in each that awaits
//! it.

use futures::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, PgConnection, PgPool, Postgres};

/// Opens a connection.
///
/// # Errors
/// As [`ConnectOptions::connect`].
pub fn open_connection(options: &PgConnectOptions) -> BoxFuture<'_, sqlx::Result<PgConnection>> {
    Box::pin(options.connect())
}

/// Takes a connection of a pool for administration.
///
/// # Errors
/// As [`PgPool::acquire`].
pub fn acquire_connection(pool: &PgPool) -> BoxFuture<'static, sqlx::Result<PoolConnection<Postgres>>> {
    Box::pin(pool.acquire())
}
