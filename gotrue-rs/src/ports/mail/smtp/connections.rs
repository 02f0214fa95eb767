//! Connections to one mail server: a bounded number, kept for the next mail, closed when nothing needs them.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::future::join_all;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout};

use super::super::MailError;

/// How long a connection waits for the next mail.
const IDLE: Duration = Duration::from_secs(30);
/// A connection that was idle this long may have been closed by its server, and is tried before it is used.
const SUSPECT: Duration = Duration::from_secs(5);
/// Longest wait for the reply to `NOOP` or `QUIT`.
const PROBE: Duration = Duration::from_secs(2);
/// How long a mail server that turned a connection away is not asked for further ones.
const WITHHELD: Duration = Duration::from_mins(1);

/// The connections of this process to its mail server.
#[derive(Debug)]
pub(super) struct Connections {
    permits: Arc<Semaphore>,
    /// Connections that carry a mail now.
    busy: AtomicUsize,
    idle: Arc<Idle>,
}

/// A connection that carries a mail. Closed when dropped, unless it is [kept](Lease::keep).
pub(super) struct Lease<'a> {
    /// The connection.
    pub connection: AsyncSmtpConnection,
    /// Whether it carried a mail before: then its server may have closed it since.
    pub is_reused: bool,
    idle: &'a Arc<Idle>,
    _busy: Busy<'a>,
    // Dropped after `_busy` is: whoever sees a busy connection knows that a permit comes back.
    _permit: SemaphorePermit<'a>,
}

struct Busy<'a>(&'a AtomicUsize);

impl Connections {
    /// At most `limit` connections at a time.
    pub fn new(limit: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(limit)), busy: AtomicUsize::new(0), idle: Arc::default() }
    }

    /// A connection for one mail: an idle one, or what `connect` makes. Where the server turns a further connection away
    /// while it serves others, the mail waits for one of those, and no further one is opened for a while.
    pub async fn lease<F>(&self, connect: impl Fn() -> F) -> Result<Lease<'_>, MailError>
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
            return Ok(Lease { connection, is_reused, idle: &self.idle, _busy: busy, _permit: permit });
        }
    }

    /// Opens no further connection for a while. Whoever is busy gives its permit back, so that there is always one.
    fn withhold(&self, permit: SemaphorePermit<'_>) {
        permit.forget();
        let withheld = 1 + self.permits.forget_permits(Semaphore::MAX_PERMITS);
        let permits = Arc::downgrade(&self.permits);
        tokio::spawn(async move {
            sleep(WITHHELD).await;
            if let Some(permits) = permits.upgrade() {
                permits.add_permits(withheld);
            }
        });
    }
}

impl Lease<'_> {
    /// Keeps the connection for the next mail.
    pub fn keep(self) {
        self.idle.put(self.connection);
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Connections that wait for the next mail, the longest waiting first.
#[derive(Default)]
struct Idle(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    connections: Vec<(Instant, AsyncSmtpConnection)>,
    /// A task closes what waits too long.
    is_watched: bool,
}

impl Idle {
    /// The connection that was used last, if its server still answers.
    async fn take(&self) -> Option<AsyncSmtpConnection> {
        loop {
            let (since, mut connection) = self.lock().connections.pop()?;
            if since.elapsed() < SUSPECT || timeout(PROBE, connection.test_connected()).await == Ok(true) {
                return Some(connection);
            }
        }
    }

    fn put(self: &Arc<Self>, connection: AsyncSmtpConnection) {
        let mut waiting = self.lock();
        waiting.connections.push((Instant::now(), connection));
        if !std::mem::replace(&mut waiting.is_watched, true) {
            tokio::spawn(close_unused(Arc::downgrade(self)));
        }
    }

    /// What has waited too long; `None` when nothing waits at all, and nothing watches any more.
    fn unused(&self) -> Option<Vec<AsyncSmtpConnection>> {
        let mut waiting = self.lock();
        waiting.is_watched = !waiting.connections.is_empty();
        let recent = waiting.connections.iter().position(|(since, _)| since.elapsed() < IDLE);
        let unused = recent.unwrap_or(waiting.connections.len());
        waiting.is_watched.then(|| waiting.connections.drain(..unused).map(|(_, connection)| connection).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes what nobody needs, until nothing waits.
async fn close_unused(idle: Weak<Idle>) {
    loop {
        sleep(IDLE / 3).await;
        let Some(unused) = idle.upgrade().and_then(|idle| idle.unused()) else { return };
        join_all(unused.into_iter().map(|mut connection| async move {
            drop(timeout(PROBE, connection.quit()).await);
        }))
        .await;
    }
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} idle", self.lock().connections.len())
    }
}
