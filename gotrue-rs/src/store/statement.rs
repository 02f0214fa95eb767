//! Named statements and the connection that runs them: the only caller of sqlx. A statement is a constant, so that
//! a test can prepare each one, the journal can name it and a fault can hit it.

use std::sync::Arc;

use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, FromRow, Postgres, Row, Transaction, ValueRef};
use tokio::sync::Notify;
use tokio::sync::OwnedSemaphorePermit;

use super::error::{Error, Result};
use super::pool::Pool;
use crate::journal::{Journal, Step};

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
    /// Leave to wait for somebody else, given back at the end.
    _leave: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
enum Inner {
    Pool(Pool),
    Transaction(Transaction<'static, Postgres>, OwnedSemaphorePermit),
}

/// Runs a query on the open transaction, or on a connection of its own that rests afterwards if the query ended well.
macro_rules! on {
    ($self:ident, |$connection:ident| $query:expr) => {
        match &mut $self.inner {
            Inner::Pool(pool) => match pool.lease().await {
                Ok(mut lease) => {
                    let $connection: &mut PgConnection = &mut lease;
                    let outcome = $query.await;
                    lease.settle(&outcome);
                    outcome
                }
                Err(cause) => Err(cause),
            },
            Inner::Transaction(open, _) => {
                let $connection: &mut PgConnection = open;
                $query.await
            }
        }
    };
}

impl Connection {
    /// Statements that stand alone.
    pub fn pooled(pool: Pool, journal: Arc<Journal>) -> Self {
        Self { inner: Inner::Pool(pool), journal, waiting: Vec::new(), _leave: None }
    }

    /// Opens a transaction; dropped without [`Connection::commit`] it rolls back.
    pub async fn begin(pool: &Pool, journal: Arc<Journal>) -> Result<Self> {
        reach(&journal, Step::Transaction("BEGIN"), "begin").await?;
        let (transaction, permit) = pool.begin().await?;
        Ok(Self { inner: Inner::Transaction(transaction, permit), journal, waiting: Vec::new(), _leave: None })
    }

    /// Opens a transaction within which somebody else will be waited for: one of few, so that others find a connection.
    pub async fn begin_to_wait(pool: &Pool, journal: Arc<Journal>) -> Result<Self> {
        let leave = pool.leave_to_wait().await?;
        Ok(Self { _leave: Some(leave), ..Self::begin(pool, journal).await? })
    }

    /// Commits an open transaction; nothing to do for statements that stand alone.
    pub async fn commit(self) -> Result<()> {
        if let Inner::Transaction(transaction, _permit) = self.inner {
            reach(&self.journal, Step::Transaction("COMMIT"), "commit").await?;
            transaction.commit().await?;
            self.waiting.iter().for_each(|waiting| waiting.notify_waiters());
        }
        Ok(())
    }

    /// Wakes those who wait for what was just written as soon as they can see it: after the commit, never without one.
    pub fn wake(&mut self, waiting: &Arc<Notify>) {
        match self.inner {
            Inner::Pool(_) => waiting.notify_waiters(),
            Inner::Transaction(..) => self.waiting.push(Arc::clone(waiting)),
        }
    }

    /// Undoes an open transaction and waits for it, so that what follows sees the state before.
    pub async fn rollback(self) -> Result<()> {
        if let Inner::Transaction(transaction, _permit) = self.inner {
            self.journal.note(Step::Transaction("ROLLBACK"));
            transaction.rollback().await?;
        }
        Ok(())
    }

    /// Whether a transaction is open.
    pub fn is_transaction(&self) -> bool {
        matches!(self.inner, Inner::Transaction(..))
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
        let rows = on!(self, |connection| query.fetch_all(connection));
        rows.map_err(|cause| Error::in_statement(statement.name, cause))
    }

    /// No rows wanted; returns how many were written.
    pub async fn execute(&mut self, statement: &Statement, values: Values) -> Result<u64> {
        let values = self.start(statement, values).await?;
        let query = sqlx::query_with::<Postgres, _>(statement.sql, values);
        let done = on!(self, |connection| query.execute(connection));
        done.map(|done| done.rows_affected()).map_err(|cause| Error::in_statement(statement.name, cause))
    }

    /// The first column of the first row as text, of SQL whose values have no types yet; no row, `None`. Only for what
    /// cannot be a constant: whoever calls this answers for every name and value in it.
    pub(super) async fn untyped(&mut self, name: &'static str, sql: String) -> Result<Option<Option<String>>> {
        reach(&self.journal, Step::Statement(name), name).await?;
        let query = sqlx::raw_sql(AssertSqlSafe(sql));
        let rows = on!(self, |connection| query.fetch_all(connection));
        let first = rows.and_then(|rows| rows.first().map(text).transpose());
        first.map_err(|cause| Error::in_statement(name, cause))
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
    reached.map_err(|struck| Error::in_statement(name, sqlx::Error::Io(std::io::Error::other(struck))))
}
