//! The options of a pool: the servers, the settings of their sessions, and the limits.

use std::time::Duration;

use foundation::database_url::SessionTarget;
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use super::pooler::{SessionSettings, StatementMode};

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
    /// Further servers of the same database, with the same role and settings.
    pub other_servers: Vec<PgConnectOptions>,
    /// The kind of session that is wanted.
    pub target: SessionTarget,
    /// The maximum number of open connections; at least one.
    pub max_connections: u32,
    /// The maximum wait for a connection while all are in use.
    pub acquire_timeout: Duration,
    /// The maximum time to open a connection, authentication included.
    pub connect_timeout: Duration,
    /// How long requests wait for a server that was lost, or its successor; zero for not at all.
    ///
    /// The time is counted from the loss on.
    pub failover_wait: Duration,
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
    /// The idle time after which a connection is tested in the background; `None` for no such tests.
    pub test_after_idle: Option<Duration>,
}

impl PoolOptions {
    /// Limits with which a request recovers within five seconds from an unresponsive server.
    pub fn new(connect: PgConnectOptions) -> Self {
        Self {
            // A pooler refuses this parameter of the start; the default of PostgreSQL loses no digit either.
            connect: connect.disable_statement_logging().extra_float_digits(None),
            other_servers: Vec::new(),
            target: SessionTarget::Any,
            session: None,
            statement_mode: StatementMode::Detect,
            max_connections: 40,
            acquire_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(2),
            failover_wait: Duration::ZERO,
            ping_timeout: Duration::from_secs(1),
            statement_timeout: Duration::from_secs(3),
            should_expose_database_errors: true,
            max_lifetime: Some(Duration::from_mins(30)),
            idle_timeout: Some(Duration::from_mins(10)),
            test_after_idle: None,
        }
    }

    /// Sets the settings of each transaction.
    #[must_use]
    pub fn with_session(self, session: SessionSettings) -> Self {
        Self { session: Some(session), ..self }
    }

    /// Adds further servers of the same database.
    ///
    /// The kind of session that is wanted decides which one is used.
    #[must_use]
    pub fn with_servers(self, others: Vec<PgConnectOptions>, target: SessionTarget) -> Self {
        let plain = |server: PgConnectOptions| server.disable_statement_logging().extra_float_digits(None);
        Self { other_servers: others.into_iter().map(plain).collect(), target, ..self }
    }

    /// Sets the maximum number of connections.
    #[must_use]
    pub fn with_max_connections(self, max_connections: u32) -> Self {
        Self { max_connections: max_connections.max(1), ..self }
    }
}
