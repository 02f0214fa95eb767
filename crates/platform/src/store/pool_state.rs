//! The options, the permits and the idle connections that a pool and its leases share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use sqlx::PgConnection;
use telemetry::catalog::{IDLE_CONNECTIONS_LOST, REPETITIONS};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};

use super::error::reason_of;
use super::hosts::{HostConnection, Hosts};
use super::outage::{Outage, is_outage};
use super::pool_options::PoolOptions;
use super::pooler::SessionSettings;

/// A connection that was idle for longer is pinged before use: its server may be gone.
const PING_AFTER_IDLE: Duration = Duration::from_secs(1);

/// The shortest time between two log lines about lost connections of the same kind.
const LOSS_LOG_INTERVAL: Duration = Duration::from_secs(3);

/// What the clones of a pool share: options, permits and idle connections.
#[derive(Debug)]
pub(super) struct PoolInner {
    pub(super) options: PoolOptions,
    pub(super) hosts: Hosts,
    pub(super) outage: Outage,
    /// The SQL that begins a transaction where statements are not prepared.
    pub(super) transaction_settings: String,
    pub(super) permits: Arc<Semaphore>,
    /// Permits for transactions that wait for a third party; fewer than connections.
    pub(super) third_party_permits: Arc<Semaphore>,
    idle: Mutex<IdleConnections>,
    losses: Mutex<LossLog>,
}

/// When the latest lines about lost connections were logged.
#[derive(Debug, Default)]
struct LossLog {
    idle_at: Option<Instant>,
    repetition_at: Option<Instant>,
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
    tested_at: Instant,
}

/// When a connection was opened, and what it leads to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionOrigin {
    opened_at: Instant,
    host: usize,
    /// Whether statements may be prepared on it: no pooler is in between.
    pub(super) is_direct: bool,
}

impl PoolInner {
    pub(super) fn new(options: PoolOptions) -> Self {
        let most = usize::try_from(options.max_connections).unwrap_or(1).max(1);
        let transaction_settings = options.session.as_ref().map(SessionSettings::to_sql).unwrap_or_default();
        Self {
            hosts: Hosts::new(&options),
            outage: Outage::new(options.failover_wait),
            options,
            transaction_settings,
            permits: Arc::new(Semaphore::new(most)),
            third_party_permits: Arc::new(Semaphore::new((most / 2).max(1))),
            idle: Mutex::new(IdleConnections { connections: Vec::new(), suspected_at: Instant::now() }),
            losses: Mutex::default(),
        }
    }

    fn lock_idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of idle connections.
    pub(super) fn count_idle(&self) -> usize {
        self.lock_idle().connections.len()
    }

    /// Returns the connection that became idle last, if its server still responds.
    pub(super) async fn reuse(&self) -> Option<IdleConnection> {
        loop {
            let (mut idle, is_suspect) = {
                let mut all = self.lock_idle();
                let idle = all.connections.pop()?;
                let is_suspect = idle.tested_at < all.suspected_at || idle.tested_at.elapsed() > PING_AFTER_IDLE;
                (idle, is_suspect)
            };
            let opened_at = idle.origin.opened_at;
            if self.options.max_lifetime.is_some_and(|longest| opened_at.elapsed() > longest) {
                continue;
            }
            if !is_suspect {
                return Some(idle);
            }
            match timeout(self.options.ping_timeout, self.hosts.test(&mut idle.connection)).await {
                Ok(Ok(())) => return Some(idle),
                Ok(Err(_)) => self.record_lost(1),
                // Each of the others would take as long to time out, so they are discarded without a ping.
                Err(_) => self.record_lost(1 + self.take_idle().len()),
            }
        }
    }

    /// Opens a connection to a server of the wanted kind.
    ///
    /// After a change of the primary the idle connections to the former one are closed. The future is boxed: it is
    /// large, and every crate with a statement would contain a copy of its code otherwise.
    pub(super) fn connect(&self) -> BoxFuture<'_, sqlx::Result<(PgConnection, ConnectionOrigin)>> {
        Box::pin(async {
            let HostConnection { connection, is_direct, host, has_changed } = self.hosts.connect().await?;
            if has_changed {
                self.lock_idle().connections.retain(|idle| self.hosts.is_wanted(idle.origin.host));
            }
            Ok((connection, ConnectionOrigin { opened_at: Instant::now(), host, is_direct }))
        })
    }

    /// Opens a connection; while the database has only just been lost, waits until it accepts one.
    ///
    /// Nothing has been sent yet, so waiting repeats nothing.
    pub(super) async fn connect_or_wait(&self) -> sqlx::Result<(PgConnection, ConnectionOrigin)> {
        let tried_at = tokio::time::Instant::now();
        let cause = match self.connect().await {
            Err(cause) => cause,
            Ok((connection, origin)) => {
                self.end_outage(origin);
                return Ok((connection, origin));
            }
        };
        let Some(until) = self.outage.begin(&cause, tried_at) else { return Err(cause) };
        timeout_at(until, self.connect_again()).await.unwrap_or(Err(cause))
    }

    async fn connect_again(&self) -> sqlx::Result<(PgConnection, ConnectionOrigin)> {
        loop {
            let turn = self.outage.wait_for_turn().await;
            match self.connect().await {
                Ok((connection, origin)) => {
                    self.end_outage(origin);
                    return Ok((connection, origin));
                }
                Err(cause) if is_outage(&cause) => drop(turn),
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Ends the outage, unless the connection is one to a pooler, which accepts it without a database.
    fn end_outage(&self, origin: ConnectionOrigin) {
        if origin.is_direct {
            self.outage.end();
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
        if !self.permits.is_closed() && self.hosts.is_wanted(origin.host) {
            let now = Instant::now();
            idle.connections.push(IdleConnection { connection, origin, since: now, tested_at: now });
        }
    }

    /// Tests the connections that have been neither used nor tested for `age`, and closes those that fail.
    ///
    /// One is tested at a time, so that the others can be used meanwhile.
    pub(super) async fn test_idle(&self, age: Duration) {
        loop {
            let Some(mut idle) = self.take_due(age) else { return };
            match timeout(self.options.ping_timeout, self.hosts.test(&mut idle.connection)).await {
                Ok(Ok(())) => self.put_back(IdleConnection { tested_at: Instant::now(), ..idle }),
                Ok(Err(_)) => {
                    self.record_lost(1);
                    self.suspect_idle();
                }
                // Each of the others would take as long to time out, so they are discarded without a test.
                Err(_) => self.record_lost(1 + self.take_idle().len()),
            }
        }
    }

    /// Counts and logs idle connections that were lost.
    fn record_lost(&self, count: usize) {
        IDLE_CONNECTIONS_LOST.add(&[], count as u64);
        if is_line_due(&mut self.lock_losses().idle_at) {
            tracing::info!("idle database connections were lost: closed by the database or a proxy, or silent");
        }
    }

    /// Counts and logs a statement or transaction that starts again because it had no effect.
    pub(super) fn record_repetition(&self, cause: &sqlx::Error) {
        REPETITIONS.increment(&[reason_of(cause, false)]);
        if is_line_due(&mut self.lock_losses().repetition_at) {
            tracing::info!(error = %cause, "a statement without effect is repeated on another connection");
        }
    }

    fn lock_losses(&self) -> MutexGuard<'_, LossLog> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_due(&self, age: Duration) -> Option<IdleConnection> {
        let connections = &mut self.lock_idle().connections;
        let due = connections.iter().position(|idle| idle.tested_at.elapsed() >= age)?;
        Some(connections.remove(due))
    }

    /// Puts a tested connection back in its place: the oldest ones are first.
    fn put_back(&self, tested: IdleConnection) {
        let connections = &mut self.lock_idle().connections;
        if !self.permits.is_closed() && self.hosts.is_wanted(tested.origin.host) {
            let place = connections.partition_point(|idle| idle.since <= tested.since);
            connections.insert(place, tested);
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

/// Whether the latest line is old enough for another one, which then becomes the latest.
fn is_line_due(latest: &mut Option<Instant>) -> bool {
    let is_due = latest.is_none_or(|at| at.elapsed() >= LOSS_LOG_INTERVAL);
    if is_due {
        *latest = Some(Instant::now());
    }
    is_due
}

/// The runtime on which a dropped lease resets its connection.
pub(super) fn current_runtime() -> Option<Handle> {
    Handle::try_current().ok()
}
