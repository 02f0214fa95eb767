//! The pool of connections.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::connect::{Failure, Target, database_code};
use super::error_chain;
use super::prepared::Connection;
use super::spool::Diversion;
use crate::error::Error;

/// How long a request waits before it is asked whether the database answers at all, and between two such questions.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// How long the database may take to open the connection by which it is asked.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// How long the cancellation of an abandoned statement may take.
const CANCEL_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// The most connections.
    pub size: usize,
    /// How long a request waits for one.
    pub acquisition: Duration,
    /// How long one stays open without use.
    pub idle: Duration,
    /// How long one stays open.
    pub lifetime: Duration,
}

/// What a pool does at this moment, and how often requests waited in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolFigures {
    /// The connections in use.
    pub in_use: usize,
    /// The connections that are open and not in use.
    pub idle: usize,
    /// The requests that wait for a connection.
    pub waiting: usize,
    /// The requests that waited too long, since the start.
    pub timeouts: u64,
}

/// Connections that are open and not in use.
#[derive(Debug)]
pub struct Pool {
    target: Target,
    limits: PoolLimits,
    /// Whether connections may hold prepared statements; `None`: unless there is a pooler before the database.
    prepares: Mutex<Option<bool>>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    timeouts: AtomicU64,
    idle: Mutex<Vec<Idle>>,
    /// Counts the renewals; connections of an earlier one are not used again.
    generation: AtomicU64,
    /// The last probe: when it ended, and what it found. Locked during a probe, so that one serves all requests.
    probe: tokio::sync::Mutex<Option<(Instant, ProbeOutcome)>>,
}

/// What an attempt to open a connection tells of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeOutcome {
    /// It serves, to this connection or to as many others as it allows.
    Serving,
    /// It answers and refuses: it starts, ends, or does not know the login role.
    Refusing,
    Silent,
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    opened: Instant,
    returned: Instant,
}

/// A connection in use. It goes back to the pool by [`Lease::give_back`]; dropped otherwise, its statement is cancelled and it is
/// closed, as its state is unknown.
#[derive(Debug)]
pub struct Lease {
    connection: Option<Connection>,
    pool: Arc<Pool>,
    opened: Instant,
    generation: u64,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// A pool without connections. With `prepares` they may hold prepared statements; `None`: unless there is a pooler before the
    /// database.
    pub fn new(target: Target, limits: PoolLimits, prepares: Option<bool>) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(limits.size));
        Arc::new(Self {
            target,
            limits,
            prepares: Mutex::new(prepares),
            permits,
            waiting: AtomicUsize::default(),
            timeouts: AtomicU64::default(),
            idle: Mutex::default(),
            generation: AtomicU64::new(0),
            probe: tokio::sync::Mutex::default(),
        })
    }

    /// What it does now.
    pub fn figures(&self) -> PoolFigures {
        PoolFigures {
            in_use: self.limits.size.saturating_sub(self.permits.available_permits()),
            idle: self.idle.lock().unwrap_or_else(PoisonError::into_inner).len(),
            waiting: self.waiting.load(Ordering::Relaxed),
            timeouts: self.timeouts.load(Ordering::Relaxed),
        }
    }

    /// Sets whether connections may hold prepared statements, as [`Pool::new`] takes it. A change closes those that do otherwise.
    pub fn set_prepares(&self, prepares: Option<bool>) {
        let before = std::mem::replace(&mut *self.prepares.lock().unwrap_or_else(PoisonError::into_inner), prepares);
        if before != prepares {
            self.renew();
        }
    }

    /// Closes all connections: those in use when they are given back. New ones have the present settings of the login role.
    pub fn renew(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        self.generation.fetch_add(1, Ordering::Relaxed);
        idle.clear();
    }

    /// Closes connections that were not used for long.
    pub fn prune(&self) {
        let limits = self.limits;
        let is_fresh = |idle: &Idle| {
            idle.returned.elapsed() < limits.idle
                && idle.opened.elapsed() < limits.lifetime
                && !idle.connection.client().is_closed()
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).retain(is_fresh);
    }

    /// A connection of its own, outside the pool.
    ///
    /// # Errors
    /// The database is not reached, or refuses.
    pub async fn connect(&self) -> Result<Client, Failure> {
        Ok(self.target.open().await?.0)
    }

    /// Waits until the database does not answer any more: it stands still, or the network to it is gone. A statement that takes long
    /// is no sign of it, so another connection is tried.
    pub async fn wait_until_silent(&self) {
        loop {
            tokio::time::sleep(PROBE_INTERVAL).await;
            if !self.is_answering().await {
                return;
            }
        }
    }

    async fn is_answering(&self) -> bool {
        self.probe(|last| last != ProbeOutcome::Silent).await != ProbeOutcome::Silent
    }

    /// Whether the database serves connections now, or did so within the last seconds.
    pub async fn is_served(&self) -> bool {
        self.probe(|last| last == ProbeOutcome::Serving).await == ProbeOutcome::Serving
    }

    /// Lets the next probe ask the database, as a connection was lost.
    pub async fn forget_probe(&self) {
        *self.probe.lock().await = None;
    }

    /// Asks the database. The last outcome counts for a while when it `is_kept`.
    async fn probe(&self, is_kept: impl Fn(ProbeOutcome) -> bool) -> ProbeOutcome {
        let asked = Instant::now();
        let mut last = self.probe.lock().await;
        if let Some((ended, outcome)) = *last
            // A database that did not answer may be back: only those who waited for that probe go by it.
            && (ended >= asked || (is_kept(outcome) && ended.elapsed() < PROBE_INTERVAL))
        {
            return outcome;
        }
        let opened = tokio::time::timeout(PROBE_LIMIT, self.target.open()).await;
        let outcome = match opened {
            Ok(Ok(_)) => ProbeOutcome::Serving,
            Ok(Err(failure)) => match database_code(failure.as_ref()) {
                Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS => ProbeOutcome::Serving,
                Some(_) => ProbeOutcome::Refusing,
                None => ProbeOutcome::Silent,
            },
            Err(_) => ProbeOutcome::Silent,
        };
        *last = Some((Instant::now(), outcome));
        outcome
    }

    /// A connection; it waits until one is free.
    ///
    /// # Errors
    /// `PGRST003` when none became free in time, `PGRST000` when none could be opened.
    pub async fn acquire(self: &Arc<Self>) -> Result<Lease, Error> {
        let permit = self.acquire_permit().await?;
        // Taken before the connection is: one that a renewal overtakes is closed when it is given back.
        let generation = self.generation.load(Ordering::Relaxed);
        let lease = |connection, opened| Lease {
            connection: Some(connection),
            pool: Arc::clone(self),
            opened,
            generation,
            _permit: permit,
        };
        if let Some(idle) = self.take_idle() {
            return Ok(lease(idle.connection, idle.opened));
        }
        match tokio::time::timeout(self.limits.acquisition, self.open()).await {
            Ok(Ok(connection)) => Ok(lease(connection, Instant::now())),
            Ok(Err(error)) => Err(Error::connection(error_chain(error.as_ref()))),
            Err(_) => Err(self.give_up()),
        }
    }

    /// Waits until one more connection may be used.
    async fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let permits = Arc::clone(&self.permits);
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = Waiting::begin(&self.waiting);
        match tokio::time::timeout(self.limits.acquisition, permits.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(self.give_up()),
        }
    }

    /// Counts a request that waited too long.
    fn give_up(&self) -> Error {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
        Error::pool_timeout()
    }

    /// Opens a connection, and finds out whether statements can be prepared on it.
    async fn open(&self) -> Result<Connection, Failure> {
        let setting = *self.prepares.lock().unwrap_or_else(PoisonError::into_inner);
        let (client, diversion) = self.target.open().await?;
        let prepares = match setting {
            Some(prepares) => prepares,
            None => is_session(&client, &diversion).await?,
        };
        Ok(Connection::new(client, diversion, prepares))
    }

    fn take_idle(&self) -> Option<Idle> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(candidate) = idle.pop() {
            if candidate.opened.elapsed() < self.limits.lifetime && !candidate.connection.client().is_closed() {
                return Some(candidate);
            }
        }
        None
    }
}

/// Counts a request that waits, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether the connection is a session of the database. A pooler runs each transaction on another one, where prepared statements are
/// missing or are those of another client; the process that it announces is none of the database.
async fn is_session(client: &Client, diversion: &Diversion) -> Result<bool, tokio_postgres::Error> {
    let messages = client.simple_query("SELECT pg_catalog.pg_backend_pid()").await?;
    let process = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(process == Some(diversion.process().to_string().as_str()))
}

impl Lease {
    /// The connection. It is there until the lease is given back.
    pub fn connection(&self) -> Result<&Connection, Error> {
        self.connection.as_ref().ok_or_else(|| Error::internal("the connection was given back"))
    }

    /// Returns the connection to the pool: no transaction is open and nothing is being answered.
    pub fn give_back(mut self) {
        let Some(connection) = self.connection.take().filter(|connection| !connection.client().is_closed()) else {
            return;
        };
        let idle = Idle { connection, opened: self.opened, returned: Instant::now() };
        let mut connections = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock that a renewal holds.
        if self.generation == self.pool.generation.load(Ordering::Relaxed) {
            connections.push(idle);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take().filter(|connection| !connection.client().is_closed()) else {
            return;
        };
        let token = connection.client().cancel_token();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let pool = Arc::clone(&self.pool);
            runtime.spawn(async move {
                match tokio::time::timeout(CANCEL_LIMIT, pool.target.cancel(token)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        tracing::debug!(%error, "the statement of an abandoned request was not cancelled");
                    }
                    Err(_) => tracing::debug!("the database did not take the cancellation of an abandoned request"),
                }
                drop(connection);
            });
        }
    }
}
