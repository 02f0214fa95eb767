//! The connection that runs named statements: the only caller of sqlx.
//!
//! Statements have names, so that the journal can record them and tests can inject faults.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgConnection, PgQueryResult, PgRow};
use sqlx::{AssertSqlSafe, FromRow, Postgres, Row, ValueRef};
use telemetry::catalog::DATABASE_UNAVAILABLE;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::{sleep_until, timeout};
use tracing::Instrument;

use super::binding::BoundStatement;
use super::error::{Error, Result, is_read_only, is_refused_by_pooler, is_session_lost};
use super::injected_rejection::InjectedRejection;
use super::lease::Lease;
use super::pool::Pool;
use super::span::{SQL_LOG, count_statement, record_outcome, statement_span, trace_statement};
use crate::journal::{Fact, FactCondition, FactKind, InjectedError, Journal, Step, Trace};

/// The first column of the first row of untyped SQL.
pub enum UntypedRow {
    /// There is no row.
    Missing,
    /// The column is NULL.
    Null,
    /// The column as text.
    Text(String),
}

/// Either the pool (a connection per statement) or one open transaction.
#[derive(Debug)]
pub struct Connection {
    inner: Inner,
    journal: Arc<Journal>,
    /// Notified after the commit.
    waiters: Vec<Arc<Notify>>,
    /// The time limit of each statement, if it differs from the pool's.
    statement_timeout: Option<Duration>,
    /// The permit to wait for a third party, released at the end.
    _permit_to_wait: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
enum Inner {
    Pool(Pool),
    Transaction(Lease),
}

/// A statement that takes longer is logged as slow.
const SLOW_STATEMENT: Duration = Duration::from_secs(1);
/// The time limit of statements that read many rows.
const LONG_STATEMENT: Duration = Duration::from_mins(1);

/// What is sent for a statement.
enum Message {
    /// The values of a statement that is prepared at its first use on a connection.
    Prepared(Cow<'static, str>, PgArguments),
    /// A text with all values: one message, no preparation.
    Text(String),
}

impl Message {
    async fn fetch_all(self, connection: &mut PgConnection) -> sqlx::Result<Vec<PgRow>> {
        match self {
            Self::Prepared(sql, values) => {
                sqlx::query_with::<Postgres, _>(AssertSqlSafe(sql), values).fetch_all(connection).await
            }
            Self::Text(sql) => sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await,
        }
    }

    async fn execute(self, connection: &mut PgConnection) -> sqlx::Result<PgQueryResult> {
        match self {
            Self::Prepared(sql, values) => {
                sqlx::query_with::<Postgres, _>(AssertSqlSafe(sql), values).execute(connection).await
            }
            Self::Text(sql) => sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await,
        }
    }
}

/// The text of a statement, and what surrounds it.
enum Content {
    Bound(BoundStatement),
    /// As [`Content::Bound`]; the settings of the transaction apply again afterwards.
    BoundAndSettings(BoundStatement),
    Untyped(String),
}

impl Content {
    /// Returns what is sent for the statement on this connection.
    fn to_message(&self, lease: &Lease, is_transaction: bool) -> std::result::Result<Message, BoxDynError> {
        let settings = lease.transaction_settings();
        // A transaction has its settings from its begin.
        let mut text = settings.filter(|_| !is_transaction).unwrap_or_default().to_owned();
        match (self, settings) {
            (Self::Untyped(sql), _) => text.push_str(sql),
            (Self::Bound(bound) | Self::BoundAndSettings(bound), None) => {
                return Ok(Message::Prepared(bound.sql.clone(), bound.values()?.to_arguments()?));
            }
            (Self::Bound(bound), Some(_)) => {
                bound.values()?.push_statement(&mut text, &bound.sql, &bound.placeholders)?;
            }
            (Self::BoundAndSettings(bound), Some(settings)) => {
                bound.values()?.push_statement(&mut text, &bound.sql, &bound.placeholders)?;
                text.push_str("; ");
                text.push_str(settings);
            }
        }
        Ok(Message::Text(text))
    }

    /// Whether another session may execute the statement after this failure: it had no effect, or has none.
    fn can_be_repeated(&self, cause: &sqlx::Error) -> bool {
        let Self::Bound(bound) = self else { return false };
        is_read_only(cause) || is_refused_by_pooler(cause) || bound.is_repeatable && is_session_lost(cause)
    }
}

/// Runs a query on the open transaction, or on a connection of its own, within the time limit.
///
/// Outside a transaction it is repeated if it certainly had no effect.
macro_rules! on {
    ($self:ident, $name:expr, $proves:expr, $content:expr, |$connection:ident, $message:ident| $query:expr) => {{
        let (content, is_transaction) = ($content, $self.is_transaction());
        let (mut repetitions, began_at) = (0, tokio::time::Instant::now());
        loop {
            let mut own = None;
            let lease = match &mut $self.inner {
                Inner::Pool(pool) => {
                    let lease = pool.lease().await;
                    own.insert(
                        lease.map_err(|cause| record_unavailable(&$self.journal, Error::connecting($name, cause)))?,
                    )
                }
                Inner::Transaction(lease) => lease,
            };
            let encoded = content.to_message(lease, is_transaction);
            let $message = encoded.map_err(|cause| Error::in_statement($name, sqlx::Error::Encode(cause)))?;
            let limit = $self.statement_timeout.unwrap_or(lease.statement_timeout());
            let started_at = Instant::now();
            let span = statement_span($name);
            let (before, $connection) = lease.start();
            let outcome = timeout(limit, $query).instrument(span.clone()).await;
            let outcome = lease.finish(before, outcome);
            record_outcome(&span, &outcome);
            let elapsed = started_at.elapsed();
            log_slow($name, elapsed);
            count_statement($name, &outcome, elapsed);
            let record = |trace: &mut Trace| {
                trace.record_statement(trace_statement($name, &outcome, elapsed), $proves, is_transaction);
            };
            $self.journal.trace(record);
            let failed = outcome.as_ref().err().filter(|cause| !is_transaction && content.can_be_repeated(cause));
            if let Some(at) = failed.and_then(|cause| lease.plan_repetition(cause, repetitions, began_at)) {
                sleep_until(at).await;
                repetitions += 1;
                continue;
            }
            break outcome.map_err(|cause| record_unavailable(&$self.journal, lease.failure($name, cause)));
        }
    }};
}

/// Records in the journal that the database is unusable, and returns the error.
fn record_unavailable(journal: &Journal, error: Error) -> Error {
    if let Some(reason) = error.unavailable_reason() {
        DATABASE_UNAVAILABLE.increment(&[reason]);
        journal.record_database_loss();
    }
    error
}

fn log_slow(statement: &'static str, elapsed: Duration) {
    if elapsed > SLOW_STATEMENT {
        tracing::warn!(target: SQL_LOG, statement, elapsed_ms = elapsed.as_millis(), "slow statement");
    }
}

impl Connection {
    /// Creates a connection for statements without a transaction.
    pub fn pooled(pool: Pool, journal: Arc<Journal>) -> Self {
        Self::new(Inner::Pool(pool), journal)
    }

    /// Opens a transaction; dropped without [`Connection::commit`] it is rolled back.
    pub async fn begin(pool: &Pool, journal: Arc<Journal>) -> Result<Self> {
        reach(&journal, Step::Transaction("BEGIN"), "begin").await?;
        journal.trace(Trace::roll_back);
        let failed = |cause| record_unavailable(&journal, Error::connecting("begin", cause));
        let (mut repetitions, began_at) = (0, tokio::time::Instant::now());
        loop {
            let mut lease = pool.lease().await.map_err(failed)?;
            let begun = lease.begin().instrument(statement_span("BEGIN")).await;
            let Err(cause) = begun else { return Ok(Self::new(Inner::Transaction(lease), journal)) };
            // Nothing else was sent, so another session may begin.
            let next = Some(&cause).filter(|cause| is_session_lost(cause));
            match next.and_then(|cause| lease.plan_repetition(cause, repetitions, began_at)) {
                Some(at) => sleep_until(at).await,
                None => return Err(failed(cause)),
            }
            repetitions += 1;
        }
    }

    /// Opens a transaction that waits for a third party.
    ///
    /// Their number is limited, so that connections stay available.
    pub async fn begin_with_third_party(pool: &Pool, journal: Arc<Journal>) -> Result<Self> {
        let permit = pool.acquire_third_party_permit().await;
        let permit = permit.map_err(|cause| record_unavailable(&journal, Error::connecting("begin", cause)))?;
        Ok(Self { _permit_to_wait: Some(permit), ..Self::begin(pool, journal).await? })
    }

    fn new(inner: Inner, journal: Arc<Journal>) -> Self {
        Self { inner, journal, waiters: Vec::new(), statement_timeout: None, _permit_to_wait: None }
    }

    /// Raises the time limit of each statement to a minute, for statements that read many rows.
    #[must_use]
    pub fn with_long_statements(self) -> Self {
        Self { statement_timeout: Some(LONG_STATEMENT), ..self }
    }

    /// Commits an open transaction; does nothing for a connection without one.
    ///
    /// # Errors
    /// The database refused, or did not confirm the commit in time. A transaction with a failed statement is never
    /// committed: its `COMMIT` would roll back without an error.
    pub async fn commit(self) -> Result<()> {
        if let Inner::Transaction(mut lease) = self.inner {
            reach(&self.journal, Step::Transaction("COMMIT"), "commit").await?;
            if !lease.can_commit() {
                let cause = sqlx::Error::AnyDriverError("a statement of this transaction has failed".into());
                return Err(Error::in_statement("commit", cause));
            }
            let committed = lease.commit().instrument(statement_span("COMMIT")).await;
            committed.map_err(|cause| record_unavailable(&self.journal, lease.failure("commit", cause)))?;
            self.journal.trace(Trace::commit);
            self.waiters.iter().for_each(|waiting| waiting.notify_waiters());
        }
        Ok(())
    }

    /// Notifies after the commit, when the written rows are visible; never after a rollback.
    pub fn wake_on_commit(&mut self, waiting: &Arc<Notify>) {
        match self.inner {
            Inner::Pool(_) => waiting.notify_waiters(),
            Inner::Transaction(_) => self.waiters.push(Arc::clone(waiting)),
        }
    }

    /// Rolls back an open transaction and waits for the result.
    pub async fn rollback(self) -> Result<()> {
        if let Inner::Transaction(mut lease) = self.inner {
            self.journal.record(Step::Transaction("ROLLBACK"));
            self.journal.trace(Trace::roll_back);
            let undone = lease.rollback().instrument(statement_span("ROLLBACK")).await;
            undone.map_err(|cause| record_unavailable(&self.journal, lease.failure("rollback", cause)))?;
        }
        Ok(())
    }

    /// Whether a transaction is open.
    pub fn is_transaction(&self) -> bool {
        matches!(self.inner, Inner::Transaction(_))
    }

    /// Returns at most one row.
    pub async fn fetch_optional<R>(&mut self, statement: BoundStatement) -> Result<Option<R>>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let name = statement.name;
        // sqlx would return the row before the statement is committed, so all rows are awaited.
        let rows = self.fetch_rows(statement).await?;
        rows.first().map(R::from_row).transpose().map_err(|cause| Error::in_statement(name, cause))
    }

    /// Returns exactly one row.
    pub async fn fetch_one<R>(&mut self, statement: BoundStatement) -> Result<R>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let name = statement.name;
        let rows = self.fetch_rows(statement).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound).and_then(R::from_row);
        row.map_err(|cause| Error::in_statement(name, cause))
    }

    /// Returns all rows.
    pub async fn fetch_all<R>(&mut self, statement: BoundStatement) -> Result<Vec<R>>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let name = statement.name;
        let rows = self.fetch_rows(statement).await?;
        let decoded: sqlx::Result<Vec<R>> = rows.iter().map(R::from_row).collect();
        decoded.map_err(|cause| Error::in_statement(name, cause))
    }

    /// Returns all rows before they are decoded.
    ///
    /// The future is boxed, so that a program contains its code once and not for each type and each crate.
    fn fetch_rows(&mut self, statement: BoundStatement) -> BoxFuture<'_, Result<Vec<PgRow>>> {
        Box::pin(async move {
            let (name, proves) = (statement.name, statement.proves);
            self.start(&statement).await?;
            let content = Content::Bound(statement);
            on!(self, name, proves, content, |connection, message| message.fetch_all(connection))
        })
    }

    /// Executes the statement and returns the number of written rows.
    pub async fn execute(&mut self, statement: BoundStatement) -> Result<u64> {
        let (name, proves) = (statement.name, statement.proves);
        self.start(&statement).await?;
        self.run(name, proves, Content::Bound(statement)).await
    }

    /// Executes a statement that resets settings of the transaction to those of the session.
    pub async fn execute_reset(&mut self, statement: BoundStatement) -> Result<u64> {
        let (name, proves) = (statement.name, statement.proves);
        self.start(&statement).await?;
        self.run(name, proves, Content::BoundAndSettings(statement)).await
    }

    /// Boxed as [`Self::fetch_rows`].
    fn run(&mut self, name: &'static str, proves: &'static [FactKind], content: Content) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move {
            let done = on!(self, name, proves, content, |connection, message| message.execute(connection));
            done.map(|done| done.rows_affected())
        })
    }

    /// Runs SQL that is not a constant.
    ///
    /// The caller must quote every name and value in it.
    pub async fn fetch_untyped(&mut self, name: &'static str, sql: String) -> Result<UntypedRow> {
        reach(&self.journal, Step::Statement(name), name).await?;
        let content = Content::Untyped(sql);
        let rows = on!(self, name, &[], content, |connection, message| message.fetch_all(connection))?;
        let Some(row) = rows.first() else { return Ok(UntypedRow::Missing) };
        read_text(row).map_err(|cause| Error::in_statement(name, cause))
    }

    /// Notes a fact in the journal's trace, if there is one.
    pub fn note(&self, condition: FactCondition, fact: impl FnOnce() -> Fact) {
        self.journal.trace(|trace| trace.note(fact(), condition));
    }

    async fn start(&self, statement: &BoundStatement) -> Result<()> {
        tracing::debug!(target: SQL_LOG, statement = statement.name, "executing statement");
        reach(&self.journal, Step::Statement(statement.name), statement.name).await
    }
}

/// Returns the first column as text.
fn read_text(row: &PgRow) -> sqlx::Result<UntypedRow> {
    let value = row.try_get_raw(0)?;
    if value.is_null() {
        return Ok(UntypedRow::Null);
    }
    value.as_str().map(|text| UntypedRow::Text(text.to_owned())).map_err(sqlx::Error::Decode)
}

async fn reach(journal: &Journal, step: Step, name: &'static str) -> Result<()> {
    let reached = journal.record_fallible(step).await;
    reached.map_err(|struck| {
        let cause = match struck {
            InjectedError::Failed => sqlx::Error::AnyDriverError(struck.into()),
            InjectedError::Disconnected => sqlx::Error::Io(std::io::Error::other(struck)),
            InjectedError::Rejected(sqlstate) => sqlx::Error::Database(Box::new(InjectedRejection { sqlstate })),
        };
        record_unavailable(journal, Error::in_statement(name, cause))
    })
}
