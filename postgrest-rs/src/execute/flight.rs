//! A transaction whose messages are sent together, without waiting for answers between them.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use futures::future;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Error as DatabaseError, Row};

use super::prepared::{Connection, Known};
use super::spool::Spool;
use super::statement_error;
use crate::error::Error;
use crate::request::QualifiedName;
use crate::response::{Body, ResultSet};
use crate::schema_cache::Function;
use crate::schema_cache::load::group_functions;
use crate::sql::Sql;

/// A transaction.
#[derive(Debug, Clone)]
pub struct Flight {
    /// `BEGIN` with its modes.
    pub begin: String,
    pub settings: Sql,
    /// The function before the statement.
    pub pre_request: Option<Sql>,
    /// The statements; the first one's result counts.
    pub statements: Vec<Sql>,
    /// How it ends.
    pub end: End,
}

/// The rows of each statement, and the body of the first one where it is too large to be held in memory.
pub type FlightResults = (Vec<Vec<Row>>, Option<Spool>);

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is committed with the flight.
    Commit,
    /// It is rolled back with the flight, after deferred constraints were checked.
    Rollback,
    /// It stays open: the result decides.
    Later,
}

/// Ends a transaction.
///
/// # Errors
/// A deferred constraint is violated; the transaction is rolled back.
pub async fn end(client: &Client, end: End) -> Result<(), tokio_postgres::Error> {
    match end {
        End::Commit => client.batch_execute("COMMIT").await,
        End::Rollback => {
            let check = client.batch_execute("SET CONSTRAINTS ALL IMMEDIATE");
            let (checked, ended) = future::join(check, client.batch_execute("ROLLBACK")).await;
            checked.and(ended)
        }
        End::Later => Ok(()),
    }
}

/// The SQLSTATE of statements after a failed one.
const IN_FAILED_TRANSACTION: &SqlState = &SqlState::IN_FAILED_SQL_TRANSACTION;

/// Runs a statement, and prepares it where it was run before. The result is that of the preparation and that of the statement.
async fn run(connection: &Connection, sql: &Sql) -> (Result<(), DatabaseError>, Result<Vec<Row>, DatabaseError>) {
    run_known(connection, sql, connection.find(sql)).await
}

/// Runs a statement of every transaction: it is prepared at once.
async fn run_always(
    connection: &Connection,
    sql: &Sql,
) -> (Result<(), DatabaseError>, Result<Vec<Row>, DatabaseError>) {
    let known = match connection.find(sql) {
        Known::New => Known::Repeated,
        known => known,
    };
    run_known(connection, sql, known).await
}

async fn run_known(
    connection: &Connection,
    sql: &Sql,
    known: Known,
) -> (Result<(), DatabaseError>, Result<Vec<Row>, DatabaseError>) {
    // The preparation is sent first: what it refuses the statement would refuse too.
    future::join(connection.prepare(&known, sql), connection.run(&known, sql)).await
}

/// Whether prepared statements are what failed: they are gone, or the schema changed the type of their results.
fn is_stale(error: &DatabaseError) -> bool {
    error.as_db_error().is_some_and(|error| {
        *error.code() == SqlState::INVALID_SQL_STATEMENT_NAME
            || (*error.code() == SqlState::FEATURE_NOT_SUPPORTED && error.message().starts_with("cached plan"))
    })
}

impl Flight {
    /// The texts of its statements, each on a line. They hold no value of a request: values are parameters.
    pub fn texts(&self) -> Vec<String> {
        let all = std::iter::once(&self.settings).chain(&self.pre_request).chain(&self.statements);
        all.map(|sql| sql.text.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    /// Sends all messages and reads all answers. The result is that of each statement, and the body of the first one where it is
    /// too large to be held in memory.
    ///
    /// # Errors
    /// The first failure; the transaction is over then.
    pub async fn run(&self, connection: &Connection, is_authenticated: bool) -> Result<FlightResults, Error> {
        connection.diversion().begin();
        let outcome = match self.send(connection).await {
            // Nothing happened, so the transaction can be sent again without prepared statements.
            Err(error) if is_stale(&error) && connection.forget() => self.send(connection).await,
            outcome => outcome,
        };
        let spooled = connection.diversion().finish().await;
        let results = outcome.map_err(|error| statement_error(&error, is_authenticated))?;
        let spooled = spooled.map_err(|error| {
            tracing::error!(%error, "a large result was not kept until it could be sent");
            Error::no_space_for_result()
        })?;
        Ok((results, spooled))
    }

    async fn send(&self, connection: &Connection) -> Result<Vec<Vec<Row>>, DatabaseError> {
        let client = connection.client();
        let pre_request = async {
            match &self.pre_request {
                Some(sql) => run_always(connection, sql).await,
                None => (Ok(()), Ok(Vec::new())),
            }
        };
        // These are polled in their order, so their messages are sent in it.
        let statements = future::join_all(self.statements.iter().map(|sql| run(connection, sql)));
        let (begun, set, checked, statements, ended) = future::join5(
            client.batch_execute(&self.begin),
            run_always(connection, &self.settings),
            pre_request,
            statements,
            end(client, self.end),
        )
        .await;
        let mut errors = Vec::new();
        errors.extend(begun.err());
        errors.extend(set.0.err().into_iter().chain(set.1.err()));
        errors.extend(checked.0.err().into_iter().chain(checked.1.err()));
        let mut results = Vec::with_capacity(statements.len());
        for (prepared, result) in statements {
            errors.extend(prepared.err());
            match result {
                Ok(rows) => results.push(rows),
                Err(error) => errors.push(error),
            }
        }
        errors.extend(ended.err());
        if errors.is_empty() {
            return Ok(results);
        }
        if self.end == End::Later {
            // A failed transaction ends in any case; without a connection there is none.
            let _ = client.batch_execute("ROLLBACK").await;
        }
        let is_cause = |error: &DatabaseError| error.code() != Some(IN_FAILED_TRANSACTION);
        let cause = errors.iter().position(is_cause).unwrap_or(0);
        Err(errors.swap_remove(cause))
    }
}

/// The bytes of a column of any type, as PostgreSQL sends them.
struct Raw(Bytes);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(Bytes::copy_from_slice(raw)))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Reads the row of a statement of [`crate::sql::statement`], whose body is in the row or was too large for it.
///
/// # Errors
/// The row has another shape.
pub fn read_row(row: &Row, spooled: Option<Spool>) -> Result<ResultSet, Error> {
    let unexpected = |error: tokio_postgres::Error| Error::internal(super::error_chain(&error));
    let location: Option<Vec<String>> = row.try_get(2).map_err(unexpected)?;
    let body: Option<Raw> = row.try_get(3).map_err(unexpected)?;
    let split = |pair: String| match pair.split_once('=') {
        Some((key, value)) => (key.to_owned(), value.to_owned()),
        None => (pair, String::new()),
    };
    Ok(ResultSet {
        total: row.try_get(0).map_err(unexpected)?,
        rows: row.try_get(1).map_err(unexpected)?,
        location: location.unwrap_or_default().into_iter().map(split).collect(),
        body: match spooled {
            Some(spool) => Body::Spooled(spool),
            None => Body::Whole(body.map(|raw| raw.0).unwrap_or_default()),
        },
        headers: row.try_get(4).map_err(unexpected)?,
        status: row.try_get(5).map_err(unexpected)?,
        inserted: row.try_get(6).map_err(unexpected)?,
    })
}

/// What a role may use of a schema.
#[derive(Debug, Default)]
pub struct Usable {
    /// The comment on the schema.
    pub comment: Option<String>,
    /// The names of the relations, where privileges were asked for.
    pub relations: Option<HashSet<String>>,
    /// The functions, where privileges were asked for.
    pub functions: Option<HashMap<QualifiedName, Vec<Function>>>,
}

/// Reads the results of the statements of [`crate::sql::describe`]: the comment, and the relations and functions where they were
/// asked for.
///
/// # Errors
/// The rows have another shape.
pub fn read_usable(results: &[Vec<Row>]) -> Result<Usable, Error> {
    let unexpected = |error: &dyn std::error::Error| Error::internal(super::error_chain(error));
    let row = |index: usize| results.get(index).and_then(|rows| rows.first());
    let mut usable = Usable::default();
    if let Some(row) = row(0) {
        usable.comment = row.try_get(0).map_err(|error| unexpected(&error))?;
    }
    if let Some(row) = row(1) {
        let names: Vec<String> = row.try_get(0).map_err(|error| unexpected(&error))?;
        usable.relations = Some(names.into_iter().collect());
    }
    if let Some(row) = row(2) {
        let text: &str = row.try_get(0).map_err(|error| unexpected(&error))?;
        let functions = serde_json::from_str(text).map_err(|error| unexpected(&error))?;
        usable.functions = Some(group_functions(functions));
    }
    Ok(usable)
}

/// The text of an `EXPLAIN`: one row as JSON, or one per line.
///
/// # Errors
/// The rows have another shape.
pub fn read_plan(rows: &[Row]) -> Result<Bytes, Error> {
    let mut text = Vec::new();
    for row in rows {
        let line: Raw = row.try_get(0).map_err(|error| Error::internal(super::error_chain(&error)))?;
        text.extend_from_slice(&line.0);
        text.push(b'\n');
    }
    Ok(Bytes::from(text))
}

/// The number of rows that a plan in JSON estimates.
pub fn read_estimate(rows: &[Row]) -> Option<i64> {
    let raw: Raw = rows.first()?.try_get(0).ok()?;
    let plan: serde_json::Value = serde_json::from_slice(&raw.0).ok()?;
    plan.get(0)?.get("Plan")?.get("Plan Rows")?.as_i64()
}
