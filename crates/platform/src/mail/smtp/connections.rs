//! The connections to one mail server: bounded in number, reused, and closed when idle.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::future::join_all;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout};

use super::super::MailError;

/// The idle time after which a connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection that was idle this long is probed before use, because its server may have closed it.
const PROBE_AFTER_IDLE: Duration = Duration::from_secs(5);
/// The time limit for the reply to `NOOP` or `QUIT`.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long no further connections are opened after the server rejected one.
const WITHHOLD_TIME: Duration = Duration::from_mins(1);

/// The connections of this process to its mail server.
#[derive(Debug)]
pub(super) struct Connections {
    permits: Arc<Semaphore>,
    /// The number of connections in use.
    busy: AtomicUsize,
    idle: Arc<Idle>,
}

/// A connection in use. Dropping it closes it, unless it is [kept](SmtpLease::keep).
pub(super) struct SmtpLease<'a> {
    pub connection: AsyncSmtpConnection,
    /// Whether it was used before: then its server may have closed it.
    pub is_reused: bool,
    idle: &'a Arc<Idle>,
    _busy: Busy<'a>,
    // Dropped after `_busy`: a busy connection implies that a permit will be released.
    _permit: SemaphorePermit<'a>,
}

struct Busy<'a>(&'a AtomicUsize);

impl Connections {
    /// Creates a pool of at most `limit` connections.
    pub(super) fn new(limit: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(limit)), busy: AtomicUsize::new(0), idle: Arc::default() }
    }

    /// Returns an idle connection or one opened by `connect`.
    ///
    /// If the server rejects a further connection while others are in use, the mail waits for one of those, and no
    /// further one is opened for a while.
    pub(super) async fn lease<F>(&self, connect: impl Fn() -> F) -> Result<SmtpLease<'_>, MailError>
    where
        F: Future<Output = Result<AsyncSmtpConnection, MailError>>,
    {
        loop {
            let closed = |_| MailError::Failed("shutting down".to_owned());
            let permit = self.permits.acquire().await.map_err(closed)?;
            let (connection, is_reused) = match self.idle.take().await {
                Some(connection) => (connection, true),
                None => match connect().await {
                    Ok(connection) => (connection, false),
                    Err(error) if !error.is_permanent() && self.busy.load(Ordering::Acquire) > 0 => {
                        self.withhold(permit);
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            self.busy.fetch_add(1, Ordering::AcqRel);
            let busy = Busy(&self.busy);
            return Ok(SmtpLease { connection, is_reused, idle: &self.idle, _busy: busy, _permit: permit });
        }
    }

    /// Opens no further connection for a while.
    ///
    /// The busy connections release their permits, so that one always remains.
    fn withhold(&self, permit: SemaphorePermit<'_>) {
        permit.forget();
        let withheld = 1 + self.permits.forget_permits(Semaphore::MAX_PERMITS);
        let permits = Arc::downgrade(&self.permits);
        http_edge::spawn_task(async move {
            sleep(WITHHOLD_TIME).await;
            if let Some(permits) = permits.upgrade() {
                permits.add_permits(withheld);
            }
        });
    }
}

impl SmtpLease<'_> {
    /// Keeps the connection for the next mail.
    pub(super) fn keep(self) {
        self.idle.put(self.connection);
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Idle connections, the longest idle first.
#[derive(Default)]
struct Idle(Mutex<IdleState>);

#[derive(Default)]
struct IdleState {
    connections: Vec<(Instant, AsyncSmtpConnection)>,
    /// Whether a task closes expired connections.
    is_watched: bool,
}

impl Idle {
    /// Returns the connection that was used last, if its server still responds.
    async fn take(&self) -> Option<AsyncSmtpConnection> {
        loop {
            let (since, mut connection) = self.lock().connections.pop()?;
            if since.elapsed() < PROBE_AFTER_IDLE
                || timeout(PROBE_TIMEOUT, connection.test_connected()).await == Ok(true)
            {
                return Some(connection);
            }
        }
    }

    fn put(self: &Arc<Self>, connection: AsyncSmtpConnection) {
        let mut waiting = self.lock();
        waiting.connections.push((Instant::now(), connection));
        if !std::mem::replace(&mut waiting.is_watched, true) {
            http_edge::spawn_task(close_expired(Arc::downgrade(self)));
        }
    }

    /// Removes expired connections; `None` if none is idle, after which the task ends.
    fn take_expired(&self) -> Option<Vec<AsyncSmtpConnection>> {
        let mut waiting = self.lock();
        waiting.is_watched = !waiting.connections.is_empty();
        let recent = waiting.connections.iter().position(|(since, _)| since.elapsed() < IDLE_TIMEOUT);
        let unused = recent.unwrap_or(waiting.connections.len());
        waiting.is_watched.then(|| waiting.connections.drain(..unused).map(|(_, connection)| connection).collect())
    }

    fn lock(&self) -> MutexGuard<'_, IdleState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes expired connections until none is idle.
async fn close_expired(idle: Weak<Idle>) {
    loop {
        sleep(IDLE_TIMEOUT / 3).await;
        let Some(unused) = idle.upgrade().and_then(|idle| idle.take_expired()) else { return };
        join_all(unused.into_iter().map(|mut connection| async move {
            drop(timeout(PROBE_TIMEOUT, connection.quit()).await);
        }))
        .await;
    }
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} idle", self.lock().connections.len())
    }
}
