//! The pool of database connections. A connection is reused only if everything sent on it has finished.
//!
//! A future that is dropped or times out while a statement is in flight leaves its connection in an unknown state: that
//! connection is closed. sqlx's own pool cannot detect this
//! (`docs/decisions/0043-connections-of-unknown-state-are-closed.md`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use telemetry::catalog::{POOL_CONNECTIONS, POOL_LIMIT, POOL_WAIT};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

pub use super::hosts::is_temporary;
use super::lease::Lease;
pub use super::pool_options::PoolOptions;
use super::pool_state::PoolInner;

/// The longest time between two looks for connections that are due for a test.
const LONGEST_TEST_INTERVAL: Duration = Duration::from_secs(1);

/// The database connections of this process; clones share them.
#[derive(Debug, Clone)]
pub struct Pool(Arc<PoolInner>);

/// A pool without connections; it opens connections again when this is dropped.
#[derive(Debug)]
pub struct PausedPool {
    _permits: OwnedSemaphorePermit,
}

impl Pool {
    /// Creates a pool that opens connections on demand.
    pub fn new(options: PoolOptions) -> Self {
        Self(Arc::new(PoolInner::new(options)))
    }

    /// The settings of the latest connection, for connections outside the pool (migrations, tests).
    ///
    /// They include the settings of the session, unless a pooler is known not to permit them.
    pub fn connect_options(&self) -> &PgConnectOptions {
        self.0.hosts.current().session_options()
    }

    /// Finds the server that is used, and returns the settings of connections to it.
    ///
    /// # Errors
    /// No server can be used; [`is_temporary`] tells whether that may change.
    pub async fn find_server(&self) -> sqlx::Result<&PgConnectOptions> {
        let (connection, _) = self.0.connect().await?;
        drop(timeout(self.0.options.ping_timeout, connection.close()).await);
        Ok(self.connect_options())
    }

    /// Opens a connection that is not counted, for work that takes long.
    ///
    /// Also returns whether no pooler is in between.
    pub async fn connect_beside(&self) -> sqlx::Result<(PgConnection, bool)> {
        let (connection, origin) = self.0.connect().await?;
        Ok((connection, origin.is_direct))
    }

    /// The schema of unqualified names, if the options have settings of the session.
    pub fn schema(&self) -> Option<&str> {
        self.0.options.session.as_ref().map(|session| session.search_path.as_str())
    }

    /// Tests idle connections in the background if the options ask for it.
    ///
    /// Does not end before it is dropped.
    ///
    /// Connections that fail are closed, and a network that forgets silent connections keeps the others.
    pub async fn test_while_idle(&self) {
        let Some(age) = self.0.options.test_after_idle else { return std::future::pending().await };
        loop {
            sleep(age.min(LONGEST_TEST_INTERVAL)).await;
            self.0.test_idle(age).await;
        }
    }

    /// Closes the pool: stops opening connections, waits for those in use, and closes all.
    pub async fn close(&self) {
        let PoolInner { options, permits, third_party_permits: waiting, .. } = &*self.0;
        let all = options.max_connections.max(1);
        let longest = options.statement_timeout + options.ping_timeout;
        // Held until the end: every lease has ended or timed out by then.
        let _all = timeout(longest, permits.acquire_many(all)).await;
        permits.close();
        waiting.close();
        let idle = self.0.take_idle();
        let closing = idle.into_iter().map(|idle| idle.connection.close());
        drop(timeout(options.ping_timeout, futures::future::join_all(closing)).await);
    }

    /// Closes the connections that have been idle for longer than `age`.
    pub async fn close_idle(&self, age: Duration) {
        let closing = self.0.take_idle_since(age).into_iter().map(|idle| idle.connection.close());
        drop(timeout(self.0.options.ping_timeout, futures::future::join_all(closing)).await);
    }

    /// Waits until no connection is in use, closes all, and opens none until the result is dropped.
    ///
    /// # Errors
    /// A connection was in use for longer than a statement may take.
    pub async fn pause(&self) -> sqlx::Result<PausedPool> {
        let PoolInner { options, permits, .. } = &*self.0;
        let longest = options.statement_timeout + options.ping_timeout;
        let all = Arc::clone(permits).acquire_many_owned(options.max_connections.max(1));
        let permits = match timeout(longest, all).await {
            Ok(Ok(permits)) => permits,
            Ok(Err(_)) => return Err(sqlx::Error::PoolClosed),
            Err(_) => return Err(sqlx::Error::PoolTimedOut),
        };
        self.close_idle(Duration::ZERO).await;
        Ok(PausedPool { _permits: permits })
    }

    /// Sets the metrics of open connections.
    #[expect(clippy::cast_precision_loss, reason = "numbers of connections")]
    pub fn export_metrics(&self) {
        let most = self.0.options.max_connections.max(1);
        let free = u32::try_from(self.0.permits.available_permits()).unwrap_or(u32::MAX);
        POOL_LIMIT.set(&[], f64::from(most));
        POOL_CONNECTIONS.set(&["in_use"], f64::from(most.saturating_sub(free)));
        POOL_CONNECTIONS.set(&["idle"], self.0.count_idle() as f64);
    }

    /// Leases a connection for one statement or one transaction.
    pub(super) async fn lease(&self) -> sqlx::Result<Lease> {
        let started = Instant::now();
        let permit = self.acquire_permit(&self.0.permits).await?;
        let (connection, origin) = match self.0.reuse().await {
            Some(idle) => (idle.connection, idle.origin),
            None => self.0.connect_or_wait().await?,
        };
        POOL_WAIT.record(&[], started.elapsed());
        Ok(Lease::new(connection, origin, Arc::clone(&self.0), permit))
    }

    /// Acquires the permit for a transaction that waits for a third party.
    ///
    /// It is acquired before the transaction begins, so that the wait for it holds no connection.
    pub(super) async fn acquire_third_party_permit(&self) -> sqlx::Result<OwnedSemaphorePermit> {
        self.acquire_permit(&self.0.third_party_permits).await
    }

    async fn acquire_permit(&self, among: &Arc<Semaphore>) -> sqlx::Result<OwnedSemaphorePermit> {
        match timeout(self.0.options.acquire_timeout, Arc::clone(among).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(sqlx::Error::PoolClosed),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }
}
