//! A leased connection: its known state decides whether it is reused, reset or closed.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};

use super::error::{Error, ends_session, is_of_failed_transaction, is_read_only, is_refused_by_pooler};
use super::pool_state::{ConnectionOrigin, PoolInner, current_runtime};

/// The interval between repetitions of a statement.
const REPEAT_INTERVAL: Duration = Duration::from_millis(100);

/// The known state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    /// Everything sent has finished and no transaction is open.
    Ready,
    /// Everything sent has finished; the server's ready message after an error may still be outstanding.
    Failed,
    /// Everything sent has finished, within an open transaction.
    InTransaction,
    /// A statement of the open transaction has failed; only a rollback is possible.
    TransactionFailed,
    /// The end of something that was sent was not seen, or the session is over.
    Unknown,
}

/// One connection, leased for a statement or a transaction.
///
/// When dropped, it is reused as it is, reset, or closed.
#[derive(Debug)]
pub(super) struct Lease {
    connection: Option<PgConnection>,
    origin: ConnectionOrigin,
    state: ConnectionState,
    shared: Arc<PoolInner>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Lease {
    pub(super) fn new(
        connection: PgConnection,
        origin: ConnectionOrigin,
        shared: Arc<PoolInner>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { connection: Some(connection), origin, state: ConnectionState::Ready, shared, permit: Some(permit) }
    }

    /// Whether a transaction is open in which no statement has failed.
    ///
    /// In any other state `COMMIT` can roll back without an error.
    pub(super) fn can_commit(&self) -> bool {
        self.state == ConnectionState::InTransaction
    }

    /// The SQL that begins each transaction.
    ///
    /// `None` if the session has these settings and statements are prepared.
    pub(super) fn transaction_settings(&self) -> Option<&str> {
        (!self.origin.is_direct).then_some(&self.shared.transaction_settings)
    }

    /// The default time limit of a statement.
    pub(super) fn statement_timeout(&self) -> Duration {
        self.shared.options.statement_timeout
    }

    /// Wraps a failure, with the database's message for clients if the pool's options allow it.
    pub(super) fn failure(&self, statement: &'static str, cause: sqlx::Error) -> Error {
        let error = Error::in_statement(statement, cause);
        if self.shared.options.should_expose_database_errors { error } else { error.without_database_text() }
    }

    /// Returns when a failed statement without effect is repeated, and counts the repetition.
    ///
    /// It is repeated on another connection: once, and then while requests wait for a lost database. The first
    /// repetition is at once, unless a pooler has to connect to the database before. `None` if it is not repeated.
    pub(super) fn plan_repetition(&self, cause: &sqlx::Error, repetitions: u32, began_at: Instant) -> Option<Instant> {
        let now = Instant::now();
        let next = now + REPEAT_INTERVAL;
        let at = if repetitions == 0 {
            Some(if is_refused_by_pooler(cause) { next } else { now })
        } else {
            self.shared.outage.begin(cause, began_at).filter(|until| next < *until).map(|_| next)
        };
        at.inspect(|_| self.shared.record_repetition(cause))
    }

    /// Opens a transaction.
    pub(super) async fn begin(&mut self) -> sqlx::Result<()> {
        let limit = self.statement_timeout();
        let sql = format!("BEGIN; {}", self.transaction_settings().unwrap_or_default());
        let (before, connection) = self.start();
        let outcome = timeout(limit, sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection)).await;
        let begun = self.finish(before, outcome);
        self.state = match self.state {
            ConnectionState::Ready => ConnectionState::InTransaction,
            // A setting was refused, or the message was cancelled: `BEGIN` may have been executed before.
            ConnectionState::Failed => ConnectionState::TransactionFailed,
            other => other,
        };
        begun.map(|_| ())
    }

    /// Commits the open transaction.
    ///
    /// After an error that is not the database's own it is unknown whether the commit took place.
    pub(super) async fn commit(&mut self) -> sqlx::Result<()> {
        self.end("COMMIT").await
    }

    /// Rolls back the open transaction.
    pub(super) async fn rollback(&mut self) -> sqlx::Result<()> {
        self.end("ROLLBACK").await
    }

    async fn end(&mut self, sql: &'static str) -> sqlx::Result<()> {
        let limit = self.statement_timeout();
        let (before, connection) = self.start();
        let outcome = timeout(limit, sqlx::raw_sql(sql).execute(connection)).await;
        let ended = self.finish(before, outcome);
        // Committed or refused, the transaction is over if the session still exists.
        if self.state != ConnectionState::Unknown {
            self.state = if ended.is_ok() { ConnectionState::Ready } else { ConnectionState::Failed };
        }
        ended.map(|_| ())
    }

    /// Returns the connection for one statement.
    ///
    /// Its state is unknown until [`Lease::finish`], so that a dropped future closes the connection.
    pub(super) fn start(&mut self) -> (PriorState, &mut PgConnection) {
        let before = PriorState(std::mem::replace(&mut self.state, ConnectionState::Unknown));
        (before, self.connection.as_mut().expect("the connection is taken only in drop"))
    }

    /// Records the outcome of a statement and derives the connection's state from it.
    pub(super) fn finish<T>(
        &mut self,
        PriorState(before): PriorState,
        outcome: Result<sqlx::Result<T>, Elapsed>,
    ) -> sqlx::Result<T> {
        let Ok(outcome) = outcome else {
            self.shared.suspect_idle();
            return Err(sqlx::Error::Io(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                "the database did not answer in time",
            )));
        };
        match &outcome {
            Ok(_) => {
                self.state = before.after_success();
                self.shared.outage.end();
            }
            Err(error) if ends_session(error) || before.contradicts(error) => {
                if is_read_only(error) {
                    self.shared.hosts.record_refused_write();
                }
                self.shared.suspect_idle();
            }
            Err(_) => self.state = before.after_failure(),
        }
        outcome
    }
}

/// The state of a connection before the running statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct PriorState(ConnectionState);

impl ConnectionState {
    /// Whether the error is that of a failed transaction although none is known to be open.
    fn contradicts(self, error: &sqlx::Error) -> bool {
        matches!(self, Self::Ready | Self::Failed) && is_of_failed_transaction(error)
    }

    fn after_success(self) -> Self {
        match self {
            Self::Ready | Self::Failed => Self::Ready,
            // A response may belong to an earlier statement: the connection is not used again.
            Self::Unknown => Self::Unknown,
            // In a failed transaction only the rollback to a savepoint can succeed, after which the transaction
            // continues.
            Self::InTransaction | Self::TransactionFailed => Self::InTransaction,
        }
    }

    fn after_failure(self) -> Self {
        match self {
            Self::Ready | Self::Failed => Self::Failed,
            Self::Unknown => Self::Unknown,
            Self::InTransaction | Self::TransactionFailed => Self::TransactionFailed,
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        match self.state {
            ConnectionState::Ready => self.shared.keep(connection, self.origin),
            ConnectionState::Failed | ConnectionState::InTransaction | ConnectionState::TransactionFailed => {
                let has_transaction = self.state != ConnectionState::Failed;
                // Without a runtime the process is ending: the connection is closed.
                if let Some(runtime) = current_runtime() {
                    let reset = reset(connection, has_transaction, Arc::clone(&self.shared), self.origin);
                    let permit = self.permit.take();
                    runtime.spawn(async move {
                        reset.await;
                        drop(permit);
                    });
                }
            }
            ConnectionState::Unknown => drop(connection),
        }
    }
}

/// Rolls back an open transaction, and keeps the connection if it responds in time.
async fn reset(mut connection: PgConnection, has_transaction: bool, shared: Arc<PoolInner>, origin: ConnectionOrigin) {
    let resetting = async {
        if has_transaction {
            sqlx::raw_sql("ROLLBACK").execute(&mut connection).await.map(|_| ())
        } else {
            connection.ping().await
        }
    };
    match timeout(shared.options.ping_timeout, resetting).await {
        Ok(Ok(())) => shared.keep(connection, origin),
        Ok(Err(_)) | Err(_) => shared.suspect_idle(),
    }
}
