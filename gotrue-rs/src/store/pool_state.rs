//! The options, the permits and the idle connections that a pool and its leases share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection as _, PgConnection};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::pooler::{Connector, Opened, SessionSettings, StatementMode};

/// A connection that was idle for longer is pinged before use: its server may be gone.
const PING_AFTER_IDLE: Duration = Duration::from_secs(1);

/// Connection settings and time limits of the pool. No step waits without a limit.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The server and the role.
    ///
    /// Settings of the session that are given here are lost behind a pooler.
    pub connect: PgConnectOptions,
    /// The settings of each transaction.
    pub session: Option<SessionSettings>,
    /// Whether statements are prepared.
    pub statement_mode: StatementMode,
    /// The maximum number of open connections; at least one.
    pub max_connections: u32,
    /// The maximum wait for a connection while all are in use.
    pub acquire_timeout: Duration,
    /// The maximum time to open a connection, authentication included.
    pub connect_timeout: Duration,
    /// The maximum time for a ping before reuse, and for a rollback after use.
    pub ping_timeout: Duration,
    /// The maximum time of a statement before its connection counts as dead.
    pub statement_timeout: Duration,
    /// Whether clients see database messages in errors where the legacy API version exposes them.
    pub should_expose_database_errors: bool,
    /// The age at which a connection is closed instead of reused; `None` for no limit.
    pub max_lifetime: Option<Duration>,
    /// The idle time after which a connection is closed; `None` for no limit.
    pub idle_timeout: Option<Duration>,
}

impl PoolOptions {
    /// Limits with which a request recovers within five seconds from an unresponsive server.
    pub fn new(connect: PgConnectOptions) -> Self {
        Self {
            // A pooler refuses this parameter of the start; the default of PostgreSQL loses no digit either.
            connect: connect.disable_statement_logging().extra_float_digits(None),
            session: None,
            statement_mode: StatementMode::Detect,
            max_connections: 40,
            acquire_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(2),
            ping_timeout: Duration::from_secs(1),
            statement_timeout: Duration::from_secs(3),
            should_expose_database_errors: true,
            max_lifetime: Some(Duration::from_mins(30)),
            idle_timeout: Some(Duration::from_mins(10)),
        }
    }

    /// Sets the settings of each transaction.
    #[must_use]
    pub fn with_session(self, session: SessionSettings) -> Self {
        Self { session: Some(session), ..self }
    }

    /// Sets the maximum number of connections.
    #[must_use]
    pub fn with_max_connections(self, max_connections: u32) -> Self {
        Self { max_connections: max_connections.max(1), ..self }
    }
}

/// What the clones of a pool share: options, permits and idle connections.
#[derive(Debug)]
pub(super) struct PoolInner {
    pub(super) options: PoolOptions,
    pub(super) connector: Connector,
    /// The SQL that begins a transaction where statements are not prepared.
    pub(super) transaction_settings: String,
    pub(super) permits: Arc<Semaphore>,
    /// Permits for transactions that wait for a third party; fewer than connections.
    pub(super) third_party_permits: Arc<Semaphore>,
    idle: Mutex<IdleConnections>,
}

#[derive(Debug)]
struct IdleConnections {
    connections: Vec<IdleConnection>,
    /// Connections that became idle before this are pinged before use, because another one was dead.
    suspected_at: Instant,
}

/// A connection without a running statement or an open transaction.
#[derive(Debug)]
pub(super) struct IdleConnection {
    pub(super) connection: PgConnection,
    pub(super) origin: ConnectionOrigin,
    since: Instant,
}

/// When a connection was opened, and what it leads to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionOrigin {
    pub(super) opened_at: Instant,
    /// Whether statements may be prepared on it: no pooler is in between.
    pub(super) is_direct: bool,
}

impl PoolInner {
    pub(super) fn new(options: PoolOptions) -> Self {
        let most = usize::try_from(options.max_connections).unwrap_or(1).max(1);
        let connector = Connector::new(options.connect.clone(), options.session.as_ref(), options.statement_mode);
        let transaction_settings = options.session.as_ref().map(SessionSettings::to_sql).unwrap_or_default();
        Self {
            options,
            connector,
            transaction_settings,
            permits: Arc::new(Semaphore::new(most)),
            third_party_permits: Arc::new(Semaphore::new((most / 2).max(1))),
            idle: Mutex::new(IdleConnections { connections: Vec::new(), suspected_at: Instant::now() }),
        }
    }

    fn lock_idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection that became idle last, if its server still responds.
    pub(super) async fn reuse(&self) -> Option<IdleConnection> {
        loop {
            let (mut idle, is_suspect) = {
                let mut all = self.lock_idle();
                let idle = all.connections.pop()?;
                let is_suspect = idle.since < all.suspected_at || idle.since.elapsed() > PING_AFTER_IDLE;
                (idle, is_suspect)
            };
            if self.options.max_lifetime.is_some_and(|longest| idle.origin.opened_at.elapsed() > longest) {
                continue;
            }
            if !is_suspect {
                return Some(idle);
            }
            match timeout(self.options.ping_timeout, idle.connection.ping()).await {
                Ok(Ok(())) => return Some(idle),
                Ok(Err(_)) => {}
                // Each of the others would take as long to time out, so they are discarded without a ping.
                Err(_) => drop(self.take_idle()),
            }
        }
    }

    pub(super) async fn connect(&self) -> sqlx::Result<(PgConnection, ConnectionOrigin)> {
        match timeout(self.options.connect_timeout, self.connector.open()).await {
            Ok(opened) => {
                let Opened { connection, is_direct } = opened?;
                Ok((connection, ConnectionOrigin { opened_at: Instant::now(), is_direct }))
            }
            Err(_) => Err(sqlx::Error::Io(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                "the database did not complete the connection in time",
            ))),
        }
    }

    /// Keeps a connection for reuse, and closes the oldest one that has exceeded the idle timeout.
    pub(super) fn keep(&self, connection: PgConnection, origin: ConnectionOrigin) {
        let mut idle = self.lock_idle();
        let is_expired =
            |oldest: &IdleConnection| self.options.idle_timeout.is_some_and(|limit| oldest.since.elapsed() > limit);
        if idle.connections.first().is_some_and(is_expired) {
            idle.connections.remove(0);
        }
        if !self.permits.is_closed() {
            idle.connections.push(IdleConnection { connection, origin, since: Instant::now() });
        }
    }

    /// Makes every idle connection be pinged before reuse, because another one has failed.
    pub(super) fn suspect_idle(&self) {
        self.lock_idle().suspected_at = Instant::now();
    }

    /// Takes the connections out of the pool that have been idle for longer than `age`.
    pub(super) fn take_idle_since(&self, age: Duration) -> Vec<IdleConnection> {
        let mut idle = self.lock_idle();
        // The oldest ones are first.
        let count = idle.connections.iter().take_while(|idle| idle.since.elapsed() >= age).count();
        idle.connections.drain(..count).collect()
    }

    /// Takes all idle connections out of the pool.
    pub(super) fn take_idle(&self) -> Vec<IdleConnection> {
        std::mem::take(&mut self.lock_idle().connections)
    }
}

/// The runtime on which a dropped lease resets its connection.
pub(super) fn current_runtime() -> Option<Handle> {
    Handle::try_current().ok()
}
