//! Named statements and the connection that runs them: the only caller of sqlx. A statement is a constant, so that
//! a test can prepare each one, the journal can name it and a fault can hit it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{AssertSqlSafe, FromRow, Postgres, Row, ValueRef};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::timeout;

use super::error::{Error, Result};
use super::lease::Lease;
use super::pool::Pool;
use crate::journal::{Journal, Step, Struck};

/// Under this name the log holds statements, at level debug.
pub const SQL_LOG: &str = "sql";

/// SQL under a name.
#[derive(Debug, Clone, Copy)]
pub struct Statement {
    /// `<table>.<verb>`, as journal and metrics show it.
    pub name: &'static str,
    /// The text, with `$1` … for values; schema `auth` by the connection's search path.
    pub sql: &'static str,
}

/// Collects a statement's values in order: `args![id, now]`.
#[macro_export]
macro_rules! args {
    () => { Ok(sqlx::postgres::PgArguments::default()) };
    ($($value:expr),+ $(,)?) => {{
        let mut arguments = sqlx::postgres::PgArguments::default();
        let added: std::result::Result<(), sqlx::error::BoxDynError> = (|| {
            $( sqlx::Arguments::add(&mut arguments, $value)?; )+
            Ok(())
        })();
        added.map(|()| arguments)
    }};
}
pub use args;

/// What [`args!`] gives: the values, or why one cannot be sent.
pub type Values = std::result::Result<PgArguments, sqlx::error::BoxDynError>;

/// Either the pool (each statement on its own, no connection held between two) or one open transaction.
#[derive(Debug)]
pub struct Connection {
    inner: Inner,
    journal: Arc<Journal>,
    /// Whom a commit wakes.
    waiting: Vec<Arc<Notify>>,
    /// How long each statement may take, where that is not the pool's limit.
    statement_timeout: Option<Duration>,
    /// Permission to wait for a third party, given back at the end.
    _permit_to_wait: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
enum Inner {
    Pool(Pool),
    Transaction(Lease),
}

/// A statement that takes longer is logged by its name.
const SLOW: Duration = Duration::from_secs(1);
/// How long a statement may take that reads many rows.
const LONG_STATEMENT: Duration = Duration::from_mins(1);

/// Runs a query on the open transaction, or on a connection of its own, within the time limit of statements.
macro_rules! on {
    ($self:ident, $name:expr, |$connection:ident| $query:expr) => {{
        let mut own = None;
        let lease = match &mut $self.inner {
            Inner::Pool(pool) => {
                let lease = pool.lease().await;
                own.insert(lease.map_err(|cause| noted(&$self.journal, Error::connecting($name, cause)))?)
            }
            Inner::Transaction(lease) => lease,
        };
        let limit = $self.statement_timeout.unwrap_or(lease.statement_timeout());
        let asked_at = Instant::now();
        let (before, $connection) = lease.start();
        let outcome = timeout(limit, $query).await;
        let outcome = lease.finish(before, outcome);
        log_slow($name, asked_at.elapsed());
        outcome.map_err(|cause| noted(&$self.journal, lease.failure($name, cause)))
    }};
}

/// The error, remembered for the answer to the request if it says that the database cannot be used.
fn noted(journal: &Journal, error: Error) -> Error {
    if error.is_unavailable() {
        journal.note_lost_database();
    }
    error
}

fn log_slow(statement: &'static str, elapsed: Duration) {
    if elapsed > SLOW {
        tracing::warn!(target: SQL_LOG, statement, elapsed_ms = elapsed.as_millis(), "slow statement");
    }
}

impl Connection {
    /// Statements that stand alone.
    pub fn pooled(pool: Pool, journal: Arc<Journal>) -> Self {
        Self::over(Inner::Pool(pool), journal)
    }

    /// Opens a transaction; dropped without [`Connection::commit`] it rolls back.
    pub async fn begin(pool: &Pool, journal: Arc<Journal>) -> Result<Self> {
        reach(&journal, Step::Transaction("BEGIN"), "begin").await?;
        let failed = |cause| noted(&journal, Error::connecting("begin", cause));
        let mut lease = pool.lease().await.map_err(failed)?;
        lease.begin().await.map_err(failed)?;
        Ok(Self::over(Inner::Transaction(lease), journal))
    }

    /// Opens a transaction within which a third party will be waited for: one of few, so that others find a connection.
    pub async fn begin_to_wait(pool: &Pool, journal: Arc<Journal>) -> Result<Self> {
        let permit = pool.permit_to_wait().await;
        let permit = permit.map_err(|cause| noted(&journal, Error::connecting("begin", cause)))?;
        Ok(Self { _permit_to_wait: Some(permit), ..Self::begin(pool, journal).await? })
    }

    fn over(inner: Inner, journal: Arc<Journal>) -> Self {
        Self { inner, journal, waiting: Vec::new(), statement_timeout: None, _permit_to_wait: None }
    }

    /// The same for statements that read many rows: each may take a minute.
    #[must_use]
    pub fn with_long_statements(self) -> Self {
        Self { statement_timeout: Some(LONG_STATEMENT), ..self }
    }

    /// Commits an open transaction; nothing to do for statements that stand alone.
    ///
    /// # Errors
    /// The database refused, or did not say in time whether it committed. A transaction in which a statement has
    /// failed is never committed: its `COMMIT` would roll back without an error.
    pub async fn commit(self) -> Result<()> {
        if let Inner::Transaction(mut lease) = self.inner {
            reach(&self.journal, Step::Transaction("COMMIT"), "commit").await?;
            if !lease.can_commit() {
                let cause = sqlx::Error::AnyDriverError("a statement of this transaction has failed".into());
                return Err(Error::in_statement("commit", cause));
            }
            let committed = lease.commit().await;
            committed.map_err(|cause| noted(&self.journal, lease.failure("commit", cause)))?;
            self.waiting.iter().for_each(|waiting| waiting.notify_waiters());
        }
        Ok(())
    }

    /// Wakes those who wait for what was just written as soon as they can see it: after the commit, never without one.
    pub fn wake(&mut self, waiting: &Arc<Notify>) {
        match self.inner {
            Inner::Pool(_) => waiting.notify_waiters(),
            Inner::Transaction(_) => self.waiting.push(Arc::clone(waiting)),
        }
    }

    /// Undoes an open transaction and waits for it, so that what follows sees the state before.
    pub async fn rollback(self) -> Result<()> {
        if let Inner::Transaction(mut lease) = self.inner {
            self.journal.note(Step::Transaction("ROLLBACK"));
            let undone = lease.rollback().await;
            undone.map_err(|cause| noted(&self.journal, lease.failure("rollback", cause)))?;
        }
        Ok(())
    }

    /// Whether a transaction is open.
    pub fn is_transaction(&self) -> bool {
        matches!(self.inner, Inner::Transaction(_))
    }

    /// At most one row.
    pub async fn optional<R>(&mut self, statement: &Statement, values: Values) -> Result<Option<R>>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        // sqlx would answer the row before the statement is committed: all rows are waited for, and there is one.
        Ok(self.all(statement, values).await?.into_iter().next())
    }

    /// Exactly one row.
    pub async fn one<R>(&mut self, statement: &Statement, values: Values) -> Result<R>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let row = self.optional(statement, values).await?;
        row.ok_or_else(|| Error::in_statement(statement.name, sqlx::Error::RowNotFound))
    }

    /// All rows.
    pub async fn all<R>(&mut self, statement: &Statement, values: Values) -> Result<Vec<R>>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let values = self.start(statement, values).await?;
        let query = sqlx::query_as_with::<Postgres, R, _>(statement.sql, values);
        on!(self, statement.name, |connection| query.fetch_all(connection))
    }

    /// No rows wanted; returns how many were written.
    pub async fn execute(&mut self, statement: &Statement, values: Values) -> Result<u64> {
        let values = self.start(statement, values).await?;
        let query = sqlx::query_with::<Postgres, _>(statement.sql, values);
        let done = on!(self, statement.name, |connection| query.execute(connection));
        done.map(|done| done.rows_affected())
    }

    /// The first column of the first row as text, of SQL whose values have no types yet; no row, `None`. Only for what
    /// cannot be a constant: whoever calls this answers for every name and value in it.
    pub(super) async fn untyped(&mut self, name: &'static str, sql: String) -> Result<Option<Option<String>>> {
        reach(&self.journal, Step::Statement(name), name).await?;
        let query = sqlx::raw_sql(AssertSqlSafe(sql));
        let rows = on!(self, name, |connection| query.fetch_all(connection))?;
        rows.first().map(text).transpose().map_err(|cause| Error::in_statement(name, cause))
    }

    async fn start(&self, statement: &Statement, values: Values) -> Result<PgArguments> {
        tracing::debug!(target: SQL_LOG, statement = statement.name, "asking the database");
        reach(&self.journal, Step::Statement(statement.name), statement.name).await?;
        values.map_err(|cause| Error::in_statement(statement.name, sqlx::Error::Encode(cause)))
    }
}

/// The first column as text; `None` for null.
fn text(row: &PgRow) -> sqlx::Result<Option<String>> {
    let value = row.try_get_raw(0)?;
    if value.is_null() {
        return Ok(None);
    }
    value.as_str().map(|text| Some(text.to_owned())).map_err(sqlx::Error::Decode)
}

async fn reach(journal: &Journal, step: Step, name: &'static str) -> Result<()> {
    let reached = journal.reach(step).await;
    reached.map_err(|struck| {
        let cause = match struck {
            Struck::Failed => sqlx::Error::AnyDriverError(struck.into()),
            Struck::Disconnected => sqlx::Error::Io(std::io::Error::other(struck)),
        };
        noted(journal, Error::in_statement(name, cause))
    })
}
