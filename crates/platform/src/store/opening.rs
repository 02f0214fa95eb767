//! Opens connections: those of the pool, and those for administration.
//!
//! The futures are boxed: the driver's code that opens connections is then in this crate only, and not in each that awaits
//! it.

use std::io;
use std::time::Duration;

use futures::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool, Postgres};

/// How long a connection may take that is opened only to find out why others were not.
const CAUSE_TIMEOUT: Duration = Duration::from_secs(2);

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
/// As [`PgPool::acquire`]; of a server that is not reached, the cause and its address.
pub fn acquire_connection(pool: &PgPool) -> BoxFuture<'static, sqlx::Result<PoolConnection<Postgres>>> {
    let pool = pool.clone();
    Box::pin(async move {
        match pool.acquire().await {
            // The pool tries again until its time is over, and does not say why that was needed.
            Err(sqlx::Error::PoolTimedOut) => Err(find_cause(&pool.connect_options()).await),
            Err(error) => Err(name_server(error, &pool.connect_options())),
            Ok(connection) => Ok(connection),
        }
    })
}

/// Returns why no connection can be opened. If one can be, those of the pool are in use.
async fn find_cause(options: &PgConnectOptions) -> sqlx::Error {
    match tokio::time::timeout(CAUSE_TIMEOUT, open_connection(options)).await {
        Ok(Ok(connection)) => {
            drop(connection.close().await);
            sqlx::Error::PoolTimedOut
        }
        Ok(Err(error)) => name_server(error, options),
        Err(_) => name_server(sqlx::Error::Io(io::ErrorKind::TimedOut.into()), options),
    }
}

/// Adds the address of the server to the error of one that is not reached.
fn name_server(error: sqlx::Error, options: &PgConnectOptions) -> sqlx::Error {
    let sqlx::Error::Io(error) = error else { return error };
    let port = options.get_port();
    let server = match options.get_socket() {
        Some(folder) => format!("the socket {}/.s.PGSQL.{port}", folder.display()),
        None => format!("{} port {port}", options.get_host()),
    };
    sqlx::Error::Io(io::Error::new(error.kind(), format!("{server}: {error}; does PostgreSQL run there?")))
}
