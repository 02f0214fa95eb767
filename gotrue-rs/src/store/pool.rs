//! Connections for statements. sqlx's own pool tries each connection with a round trip when it is given back, which
//! doubles what a request of one statement costs; here a connection whose statement has ended well rests as it is, and
//! only one that has rested for long is tried before it is used again. Everything else is left to sqlx.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, PgPool, Postgres, Transaction};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// A connection that rested this long may have died with its server, and is tried before it is used.
const SUSPECT: Duration = Duration::from_secs(1);

/// The connections of this process to its database; clones share them. All of a database's statements must go through
/// one, for it counts who holds how many.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    connections: PgPool,
    permits: Arc<Semaphore>,
    /// Fewer than there are connections: for transactions within which somebody else is waited for.
    waiting: Arc<Semaphore>,
    rested: Mutex<Vec<Rested>>,
}

#[derive(Debug)]
struct Rested {
    connection: PoolConnection<Postgres>,
    born: Instant,
    since: Instant,
}

impl Pool {
    /// Counts and rests the connections of sqlx's pool, at most as many as that allows.
    pub fn new(connections: PgPool) -> Self {
        let most = usize::try_from(connections.options().get_max_connections()).unwrap_or(1).max(1);
        let (permits, waiting) = (Arc::new(Semaphore::new(most)), Arc::new(Semaphore::new((most / 2).max(1))));
        Self(Arc::new(Shared { connections, permits, waiting, rested: Mutex::default() }))
    }

    /// sqlx's pool, for what is no statement of a request: migrations, tests that prepare statements.
    pub fn connections(&self) -> &PgPool {
        &self.0.connections
    }

    /// Closes all connections; statements under way end first.
    pub async fn close(&self) {
        // Closed from here on, so that none is put to rest any more, then those that rest go back, then all are waited for.
        let closing = self.0.connections.close();
        self.0.rested().clear();
        closing.await;
    }

    /// A connection for one statement.
    pub(super) async fn lease(&self) -> sqlx::Result<Lease> {
        let (connection, born, permit) = self.take().await?;
        Ok(Lease { connection: Some(connection), born, is_clean: false, shared: self.0.clone(), _permit: permit })
    }

    /// A transaction, with the permit that it holds on to.
    pub(super) async fn begin(&self) -> sqlx::Result<(Transaction<'static, Postgres>, OwnedSemaphorePermit)> {
        let (connection, _, permit) = self.take().await?;
        Ok((Transaction::begin(connection, None).await?, permit))
    }

    /// Leave to wait for somebody else within a transaction. It is asked for before the transaction is, so that who
    /// waits for it holds no connection.
    pub(super) async fn leave_to_wait(&self) -> sqlx::Result<OwnedSemaphorePermit> {
        self.permit(&self.0.waiting).await
    }

    async fn permit(&self, among: &Arc<Semaphore>) -> sqlx::Result<OwnedSemaphorePermit> {
        let longest = self.0.connections.options().get_acquire_timeout();
        match timeout(longest, among.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(sqlx::Error::PoolClosed),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    async fn take(&self) -> sqlx::Result<(PoolConnection<Postgres>, Instant, OwnedSemaphorePermit)> {
        let shared = &self.0;
        let permit = self.permit(&shared.permits).await?;
        let longest = shared.connections.options().get_max_lifetime();
        loop {
            let Some(mut rested) = shared.rested().pop() else { break };
            let is_old = longest.is_some_and(|longest| rested.born.elapsed() > longest);
            if is_old || (rested.since.elapsed() > SUSPECT && rested.connection.ping().await.is_err()) {
                continue;
            }
            return Ok((rested.connection, rested.born, permit));
        }
        Ok((shared.connections.acquire().await?, Instant::now(), permit))
    }
}

impl Shared {
    fn rested(&self) -> MutexGuard<'_, Vec<Rested>> {
        self.rested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a connection to rest. Those that nobody has needed for long are given back to sqlx, oldest first.
    fn rest(&self, connection: PoolConnection<Postgres>, born: Instant) {
        let idle = self.connections.options().get_idle_timeout();
        let mut rested = self.rested();
        let is_idle = |oldest: &Rested| idle.is_some_and(|idle| oldest.since.elapsed() > idle);
        if rested.first().is_some_and(is_idle) {
            rested.remove(0);
        }
        if !self.connections.is_closed() {
            rested.push(Rested { connection, born, since: Instant::now() });
        }
    }
}

/// The last clone may go when no runtime is there any more, in which sqlx would try the connections: they are closed.
impl Drop for Shared {
    fn drop(&mut self) {
        for rested in self.rested().drain(..) {
            drop(rested.connection.detach());
        }
    }
}

/// A connection for one statement. Unless the statement ended well it goes back to sqlx, which knows how to mend it.
pub(super) struct Lease {
    connection: Option<PoolConnection<Postgres>>,
    born: Instant,
    is_clean: bool,
    shared: Arc<Shared>,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    /// The statement has ended well: the connection may rest as it is.
    pub fn settle<T>(&mut self, outcome: &sqlx::Result<T>) {
        self.is_clean = outcome.is_ok();
    }
}

impl Deref for Lease {
    type Target = PoolConnection<Postgres>;

    fn deref(&self) -> &Self::Target {
        self.connection.as_ref().expect("taken in drop only")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.connection.as_mut().expect("taken in drop only")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|_| self.is_clean) {
            self.shared.rest(connection, self.born);
        }
    }
}
