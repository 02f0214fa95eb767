//! A connection in use: what is known of its state decides whether it is reused, reset or closed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgConnection};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::error::{Error, ends_session};
use super::pool::{Shared, runtime};

/// What is known of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Everything sent has finished and no transaction is open.
    Ready,
    /// Everything sent has finished, and the server may still announce that it is ready again after an error.
    Failed,
    /// Everything sent has finished, within an open transaction.
    InTransaction,
    /// A statement of the open transaction has failed; only a rollback is possible.
    TransactionFailed,
    /// Something was sent and its end was not seen, or the session is over.
    Unknown,
}

/// One connection, used for a statement or a transaction. Dropped, it is reused as it is, after a reset, or closed.
#[derive(Debug)]
pub(super) struct Lease {
    connection: Option<PgConnection>,
    opened_at: Instant,
    state: State,
    shared: Arc<Shared>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Lease {
    pub(super) fn new(
        connection: PgConnection,
        opened_at: Instant,
        shared: Arc<Shared>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { connection: Some(connection), opened_at, state: State::Ready, shared, permit: Some(permit) }
    }

    /// Whether a transaction is open in which nothing has failed. In any other state `COMMIT` could roll back without an
    /// error.
    pub(super) fn can_commit(&self) -> bool {
        self.state == State::InTransaction
    }

    /// How long a statement may take, unless its caller says otherwise.
    pub(super) fn statement_timeout(&self) -> Duration {
        self.shared.options.statement_timeout
    }

    /// The failure of a statement, with the database's own text for clients where the pool's options say so.
    pub(super) fn failure(&self, statement: &'static str, cause: sqlx::Error) -> Error {
        let error = Error::in_statement(statement, cause);
        if self.shared.options.shows_database_errors { error } else { error.hidden() }
    }

    /// Opens a transaction.
    pub(super) async fn begin(&mut self) -> sqlx::Result<()> {
        let limit = self.statement_timeout();
        let (before, connection) = self.start();
        let outcome = timeout(limit, sqlx::raw_sql("BEGIN").execute(connection)).await;
        self.finish(before, outcome)?;
        if self.state == State::Ready {
            self.state = State::InTransaction;
        }
        Ok(())
    }

    /// Commits the open transaction. An error that is not the database's own leaves it unknown whether it did.
    pub(super) async fn commit(&mut self) -> sqlx::Result<()> {
        self.end("COMMIT").await
    }

    /// Rolls the open transaction back.
    pub(super) async fn rollback(&mut self) -> sqlx::Result<()> {
        self.end("ROLLBACK").await
    }

    async fn end(&mut self, sql: &'static str) -> sqlx::Result<()> {
        let limit = self.statement_timeout();
        let (before, connection) = self.start();
        let outcome = timeout(limit, sqlx::raw_sql(sql).execute(connection)).await;
        let ended = self.finish(before, outcome);
        // Whether it was committed or refused, the transaction is over, if the session still is there.
        if self.state != State::Unknown {
            self.state = if ended.is_ok() { State::Ready } else { State::Failed };
        }
        ended.map(|_| ())
    }

    /// The connection, for one statement. Until [`Lease::finish`] its state is unknown: a future that is dropped in
    /// between closes it.
    pub(super) fn start(&mut self) -> (Before, &mut PgConnection) {
        let before = Before(std::mem::replace(&mut self.state, State::Unknown));
        (before, self.connection.as_mut().expect("taken in drop only"))
    }

    /// What the statement came to, and with it what is known of the connection.
    pub(super) fn finish<T>(
        &mut self,
        Before(before): Before,
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
            Ok(_) => self.state = before.after_success(),
            Err(error) if ends_session(error) => self.shared.suspect_idle(),
            Err(_) => self.state = before.after_failure(),
        }
        outcome
    }
}

/// The state of a connection before the statement that it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before(State);

impl State {
    fn after_success(self) -> Self {
        match self {
            Self::Ready | Self::Failed => Self::Ready,
            // An answer may belong to what was sent before: the connection is never trusted again.
            Self::Unknown => Self::Unknown,
            // A failed transaction accepts nothing but the return to a savepoint, after which it goes on.
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
            State::Ready => self.shared.keep(connection, self.opened_at),
            State::Failed | State::InTransaction | State::TransactionFailed => {
                let has_transaction = self.state != State::Failed;
                // Without a runtime the process is ending: the connection is closed.
                if let Some(runtime) = runtime() {
                    let reset = reset(connection, has_transaction, Arc::clone(&self.shared), self.opened_at);
                    let permit = self.permit.take();
                    runtime.spawn(async move {
                        reset.await;
                        drop(permit);
                    });
                }
            }
            State::Unknown => drop(connection),
        }
    }
}

/// Rolls back what is open, and keeps the connection if it answers in time.
async fn reset(mut connection: PgConnection, has_transaction: bool, shared: Arc<Shared>, opened_at: Instant) {
    let resetting = async {
        if has_transaction {
            sqlx::raw_sql("ROLLBACK").execute(&mut connection).await.map(|_| ())
        } else {
            connection.ping().await
        }
    };
    match timeout(shared.options.ping_timeout, resetting).await {
        Ok(Ok(())) => shared.keep(connection, opened_at),
        Ok(Err(_)) | Err(_) => shared.suspect_idle(),
    }
}
