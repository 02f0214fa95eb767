//! The pool of database connections. A connection is reused only when everything sent on it was seen to finish.
//!
//! A future that is dropped or times out while a statement is in flight leaves its connection in an unknown state: that
//! connection is closed. sqlx's own pool cannot tell (`docs/decisions/0043-connections-of-unknown-state-are-closed.md`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection as _, PgConnection};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::lease::Lease;

/// A connection that was idle for longer is tried before it is used: its server may be gone.
const UNTRIED_IDLE: Duration = Duration::from_secs(1);

/// How connections are made, and how long each step may take. No step waits without a limit.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The server, the role and the session's settings.
    pub connect: PgConnectOptions,
    /// The most connections that are open at once; at least one.
    pub max_connections: u32,
    /// How long a statement waits for a connection while all are in use.
    pub acquire_timeout: Duration,
    /// How long opening a connection may take, sign-in included.
    pub connect_timeout: Duration,
    /// How long an idle connection may take to answer before it is used again, and to end a transaction after use.
    pub ping_timeout: Duration,
    /// How long a statement may take before its connection counts as dead.
    pub statement_timeout: Duration,
    /// Clients see the database's own text in errors where the legacy API version of the reference shows it.
    pub shows_database_errors: bool,
    /// The age at which a connection is closed instead of reused; `None`: never.
    pub max_lifetime: Option<Duration>,
    /// The idle time after which a connection is closed; `None`: never.
    pub idle_timeout: Option<Duration>,
}

impl PoolOptions {
    /// Limits with which a request recovers within five seconds from a server that has fallen silent.
    pub fn new(connect: PgConnectOptions) -> Self {
        Self {
            connect: connect.disable_statement_logging(),
            max_connections: 40,
            acquire_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(2),
            ping_timeout: Duration::from_secs(1),
            statement_timeout: Duration::from_secs(3),
            shows_database_errors: true,
            max_lifetime: Some(Duration::from_mins(30)),
            idle_timeout: Some(Duration::from_mins(10)),
        }
    }

    /// The same with at most this many connections.
    #[must_use]
    pub fn max_connections(self, max_connections: u32) -> Self {
        Self { max_connections: max_connections.max(1), ..self }
    }
}

/// The connections of this process to its database; clones share them.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: PoolOptions,
    permits: Arc<Semaphore>,
    /// Fewer than there are connections: for transactions within which a third party is waited for.
    waiting: Arc<Semaphore>,
    idle: Mutex<IdleConnections>,
}

#[derive(Debug)]
struct IdleConnections {
    connections: Vec<Idle>,
    /// Connections that became idle before this are tried before use: another one turned out to be dead.
    suspected_at: Instant,
}

/// A connection on which nothing is in flight and no transaction is open.
#[derive(Debug)]
pub(super) struct Idle {
    pub(super) connection: PgConnection,
    pub(super) opened_at: Instant,
    since: Instant,
}

impl Pool {
    /// A pool that opens connections when they are first needed.
    pub fn new(options: PoolOptions) -> Self {
        let most = usize::try_from(options.max_connections).unwrap_or(1).max(1);
        Self(Arc::new(Shared {
            options,
            permits: Arc::new(Semaphore::new(most)),
            waiting: Arc::new(Semaphore::new((most / 2).max(1))),
            idle: Mutex::new(IdleConnections { connections: Vec::new(), suspected_at: Instant::now() }),
        }))
    }

    /// How a connection beside the pool is made: for migrations and for tests.
    pub fn connect_options(&self) -> &PgConnectOptions {
        &self.0.options.connect
    }

    /// Opens no more connections, waits for the ones in use to come back, and closes all.
    pub async fn close(&self) {
        let Shared { options, permits, waiting, .. } = &*self.0;
        let all = options.max_connections.max(1);
        let longest = options.statement_timeout + options.ping_timeout;
        // Held until the end, so that every lease has ended, or has had the time to.
        let _all = timeout(longest, permits.acquire_many(all)).await;
        permits.close();
        waiting.close();
        let idle = std::mem::take(&mut self.0.idle().connections);
        let closing = idle.into_iter().map(|idle| idle.connection.close());
        drop(timeout(options.ping_timeout, futures::future::join_all(closing)).await);
    }

    /// A connection for one statement or one transaction.
    pub(super) async fn lease(&self) -> sqlx::Result<Lease> {
        let permit = self.permit(&self.0.permits).await?;
        let (connection, opened_at) = match self.0.reuse().await {
            Some(idle) => (idle.connection, idle.opened_at),
            None => (self.0.connect().await?, Instant::now()),
        };
        Ok(Lease::new(connection, opened_at, Arc::clone(&self.0), permit))
    }

    /// Permission to wait for a third party within a transaction. It is asked for before the transaction is, so that
    /// whoever waits for it holds no connection.
    pub(super) async fn permit_to_wait(&self) -> sqlx::Result<OwnedSemaphorePermit> {
        self.permit(&self.0.waiting).await
    }

    async fn permit(&self, among: &Arc<Semaphore>) -> sqlx::Result<OwnedSemaphorePermit> {
        match timeout(self.0.options.acquire_timeout, Arc::clone(among).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(sqlx::Error::PoolClosed),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that became idle last, if its server still answers.
    async fn reuse(&self) -> Option<Idle> {
        loop {
            let (mut idle, is_suspect) = {
                let mut all = self.idle();
                let idle = all.connections.pop()?;
                let is_suspect = idle.since < all.suspected_at || idle.since.elapsed() > UNTRIED_IDLE;
                (idle, is_suspect)
            };
            if self.options.max_lifetime.is_some_and(|longest| idle.opened_at.elapsed() > longest) {
                continue;
            }
            if !is_suspect {
                return Some(idle);
            }
            match timeout(self.options.ping_timeout, idle.connection.ping()).await {
                Ok(Ok(())) => return Some(idle),
                Ok(Err(_)) => {}
                // Each of the others would cost as much time: they are not tried one after the other.
                Err(_) => self.discard_idle(),
            }
        }
    }

    async fn connect(&self) -> sqlx::Result<PgConnection> {
        match timeout(self.options.connect_timeout, self.options.connect.connect()).await {
            Ok(connected) => connected,
            Err(_) => Err(sqlx::Error::Io(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                "the database did not complete the connection in time",
            ))),
        }
    }

    /// Keeps a connection for the next statement, and closes the oldest one that was idle for too long.
    pub(super) fn keep(&self, connection: PgConnection, opened_at: Instant) {
        let mut idle = self.idle();
        let is_expired = |oldest: &Idle| self.options.idle_timeout.is_some_and(|limit| oldest.since.elapsed() > limit);
        if idle.connections.first().is_some_and(is_expired) {
            idle.connections.remove(0);
        }
        if !self.permits.is_closed() {
            idle.connections.push(Idle { connection, opened_at, since: Instant::now() });
        }
    }

    /// Has every idle connection tried before it is used again: another one has just failed.
    pub(super) fn suspect_idle(&self) {
        self.idle().suspected_at = Instant::now();
    }

    fn discard_idle(&self) {
        let closed = std::mem::take(&mut self.idle().connections);
        drop(closed);
    }
}

/// The runtime on which a connection can be brought back to rest after its last user has gone.
pub(super) fn runtime() -> Option<Handle> {
    Handle::try_current().ok()
}
