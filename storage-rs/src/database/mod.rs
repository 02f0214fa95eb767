//! Statements: each transaction is one flight of messages, with the role and the claims of the caller.

pub mod rows;
pub mod schema;
pub mod scope;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future;
use postgrest_rs::execute::pool::{Pool, PoolLimits};
use postgrest_rs::execute::prepared::{Connection, Known};
use postgrest_rs::execute::{connect, error_chain};
use postgrest_rs::service::dependencies::StatementFaults;
use postgrest_rs::sql::{Sql, Value};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error as DatabaseError, Row};

use crate::config::Config;
use crate::error::database::{of_fault, translate};
use crate::error::{Code, Error};
use scope::Scope;

/// How long a connection stays open.
const LIFETIME: Duration = Duration::from_mins(30);
/// The attempts at a transaction that others roll back.
const ATTEMPTS: usize = 3;

/// The connections of the storage API, and the settings of its transactions.
#[derive(Debug)]
pub struct Database {
    pool: Arc<Pool>,
    statement_timeout: Duration,
    /// Delays and failures of transactions, for tests of applications.
    faults: Option<Arc<dyn StatementFaults>>,
    /// The transactions that wrote, or may have written.
    writes: AtomicU64,
}

/// Counts a transaction that writes when it is over, also when its request is given up.
struct CountedWrite<'a>(Option<&'a AtomicU64>);

impl Drop for CountedWrite<'_> {
    fn drop(&mut self) {
        if let Some(writes) = self.0 {
            writes.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// A step of a transaction.
#[derive(Debug)]
pub enum Step<'a> {
    /// What follows has this role and these claims.
    As(&'a Scope),
    /// The same, in one statement with a result: these columns with these values, read before the role changes. The columns are
    /// the beginning of a statement that ends in a comma.
    ReadThenAs(&'static str, Vec<Value>, &'a Scope),
    /// A statement.
    Run(Sql),
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is committed, if all steps succeeded.
    Commit,
    /// It is rolled back: nothing stays.
    Rollback,
}

/// The results of the statements of a transaction, in their order. Those behind a failed one fail too.
pub type Results = Vec<Result<Vec<Row>, Error>>;

/// A statement with values.
pub fn sql(text: &str, values: impl IntoIterator<Item = Value>) -> Sql {
    Sql { text: text.to_owned(), values: values.into_iter().collect() }
}

/// A text value.
pub fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

/// A text value, or null.
pub fn nullable(value: Option<impl Into<String>>) -> Value {
    value.map_or(Value::Null, text)
}

/// An array of texts, as PostgreSQL writes one.
pub fn array<'a>(elements: impl IntoIterator<Item = &'a str>) -> Value {
    let quoted =
        elements.into_iter().map(|element| format!("\"{}\"", element.replace('\\', "\\\\").replace('"', "\\\"")));
    Value::Text(format!("{{{}}}", quoted.collect::<Vec<_>>().join(",")))
}

/// A text whose characters stand for themselves in a pattern of LIKE.
pub fn escape_pattern(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

impl Database {
    /// A database without connections.
    ///
    /// # Errors
    /// The connection string is malformed.
    pub fn new(config: &Config) -> Result<Self, String> {
        Self::with_faults(config, None)
    }

    /// The same with faults.
    ///
    /// # Errors
    /// The connection string is malformed.
    pub fn with_faults(config: &Config, faults: Option<Arc<dyn StatementFaults>>) -> Result<Self, String> {
        let limits = PoolLimits {
            size: config.database_pool_size,
            acquisition: config.database_connection_timeout,
            idle: config.database_idle_timeout,
            lifetime: LIFETIME,
        };
        let pool = Pool::new(connect::parse(&config.database_url)?, limits, None);
        Ok(Self { pool, statement_timeout: config.statement_timeout, faults, writes: AtomicU64::new(0) })
    }

    /// The pool of connections.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// How many transactions of this process wrote: what was read while it is the same was not changed by this process.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Acquire)
    }

    /// Runs a transaction. All messages are sent before the first answer is read. One that the database rolls back because of
    /// concurrent transactions is repeated: nothing outside the database was done yet.
    ///
    /// # Errors
    /// There is no connection, a role cannot be taken on, or the transaction was not committed. What a statement answered is in
    /// the results.
    pub async fn fly(&self, steps: &[Step<'_>], end: End) -> Result<Results, Error> {
        self.apply_fault(steps).await?;
        let lease = self.pool.acquire().await.map_err(|error| pool_error(&error))?;
        let connection = lease.connection().map_err(|error| Error::internal(&error.message))?;
        let _counted = CountedWrite((end == End::Commit && writes(steps)).then_some(&self.writes));
        let mut outcome = self.send(connection, steps, end).await;
        for _ in 1..ATTEMPTS {
            if !outcome.can_repeat(connection) {
                break;
            }
            outcome = self.send(connection, steps, end).await;
        }
        lease.give_back();
        outcome.results
    }

    /// Runs a transaction that ends as `decide` says, which sees the results. One with a failed statement is rolled back, whatever
    /// it says. `decide` must not wait: the connection and the locks of the transaction are held meanwhile.
    ///
    /// # Errors
    /// As [`Database::fly`].
    pub async fn fly_and_decide<T>(
        &self,
        steps: &[Step<'_>],
        decide: impl FnOnce(Results) -> (End, T) + Send,
    ) -> Result<T, Error> {
        self.apply_fault(steps).await?;
        let lease = self.pool.acquire().await.map_err(|error| pool_error(&error))?;
        let connection = lease.connection().map_err(|error| Error::internal(&error.message))?;
        let _counted = CountedWrite(writes(steps).then_some(&self.writes));
        let client = connection.client();
        let mut flown = self.begin(connection, steps).await;
        for _ in 1..ATTEMPTS {
            if !flown.can_repeat(connection) {
                break;
            }
            client.batch_execute("ROLLBACK").await.map_err(|error| translate(&error))?;
            flown = self.begin(connection, steps).await;
        }
        let decided = flown.results.map(|results| {
            let has_failed = results.iter().any(Result::is_err);
            let (end, value) = decide(results);
            (if has_failed { End::Rollback } else { end }, value)
        });
        let ended = match &decided {
            Ok((End::Commit, _)) => client.batch_execute("COMMIT").await,
            _ => client.batch_execute("ROLLBACK").await,
        };
        lease.give_back();
        match decided? {
            (End::Commit, value) => ended.map(|()| value).map_err(|error| translate(&error)),
            // What was decided stays true if the connection is lost: the transaction is rolled back then.
            (End::Rollback, value) => Ok(value),
        }
    }

    /// Begins a transaction and runs its statements.
    async fn begin(&self, connection: &Connection, steps: &[Step<'_>]) -> Flown {
        let (begun, results) =
            future::join(connection.client().batch_execute("BEGIN"), self.run_steps(connection, steps)).await;
        let obstacle = Obstacle::find(&results, &Ok(()));
        Flown { obstacle, results: collect(begun, steps, results, Ok(()), End::Rollback) }
    }

    /// Runs the statements of a transaction in their order.
    async fn run_steps(&self, connection: &Connection, steps: &[Step<'_>]) -> Vec<Result<Vec<Row>, DatabaseError>> {
        // These are polled in their order, so their messages are sent in it.
        let running = steps.iter().map(|step| async move {
            match step {
                Step::As(scope) => run(connection, &scope.statement(self.statement_timeout)).await,
                Step::ReadThenAs(columns, values, scope) => {
                    run(connection, &scope.set_after(columns, self.statement_timeout, values.clone())).await
                }
                Step::Run(statement) => run(connection, statement).await,
            }
        });
        future::join_all(running).await
    }

    /// Runs a transaction and returns the rows of its last statement.
    ///
    /// # Errors
    /// The first failure.
    pub async fn run(&self, scope: &Scope, statement: Sql) -> Result<Vec<Row>, Error> {
        let results = self.fly(&[Step::As(scope), Step::Run(statement)], End::Commit).await?;
        results.into_iter().next_back().unwrap_or_else(|| Ok(Vec::new()))
    }

    /// Waits or fails as the faults of a test say. A transaction writes if one of its statements does.
    async fn apply_fault(&self, steps: &[Step<'_>]) -> Result<(), Error> {
        let Some(faults) = &self.faults else { return Ok(()) };
        let Some(fault) = faults.fault_of(writes(steps)) else { return Ok(()) };
        if !fault.delay.is_zero() {
            tokio::time::sleep(fault.delay).await;
        }
        fault.failure.map_or(Ok(()), |failure| Err(of_fault(failure)))
    }

    async fn send(&self, connection: &Connection, steps: &[Step<'_>], end: End) -> Flown {
        let client = connection.client();
        let running = self.run_steps(connection, steps);
        let ended = async {
            match end {
                End::Commit => client.batch_execute("COMMIT").await,
                End::Rollback => client.batch_execute("ROLLBACK").await,
            }
        };
        let (begun, results, ended) = future::join3(client.batch_execute("BEGIN"), running, ended).await;
        let obstacle = Obstacle::find(&results, &ended);
        Flown { obstacle, results: collect(begun, steps, results, ended, end) }
    }
}

/// Whether one of these statements writes.
fn writes(steps: &[Step<'_>]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Run(sql) if !sql.text.starts_with("SELECT")))
}

/// The outcome of a transaction.
struct Flown {
    obstacle: Option<Obstacle>,
    results: Result<Results, Error>,
}

impl Flown {
    /// Whether the transaction was rolled back by something that a repetition may not meet.
    fn can_repeat(&self, connection: &Connection) -> bool {
        match self.obstacle {
            Some(Obstacle::StaleStatements) => connection.forget(),
            Some(Obstacle::ConcurrentTransaction) => true,
            None => false,
        }
    }
}

/// What rolled a transaction back that may succeed when it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    /// Prepared statements are gone, or the schema changed the type of their results.
    StaleStatements,
    /// A deadlock or a failed serialization.
    ConcurrentTransaction,
}

impl Obstacle {
    fn find(results: &[Result<Vec<Row>, DatabaseError>], ended: &Result<(), DatabaseError>) -> Option<Self> {
        let errors = results.iter().filter_map(|result| result.as_ref().err());
        errors.chain(ended.as_ref().err()).find_map(Self::of)
    }

    fn of(error: &DatabaseError) -> Option<Self> {
        let error = error.as_db_error()?;
        let code = error.code();
        if *code == SqlState::T_R_DEADLOCK_DETECTED || *code == SqlState::T_R_SERIALIZATION_FAILURE {
            return Some(Self::ConcurrentTransaction);
        }
        let is_stale = *code == SqlState::INVALID_SQL_STATEMENT_NAME
            || (*code == SqlState::FEATURE_NOT_SUPPORTED && error.message().starts_with("cached plan"));
        is_stale.then_some(Self::StaleStatements)
    }
}

fn collect(
    begun: Result<(), DatabaseError>,
    steps: &[Step<'_>],
    results: Vec<Result<Vec<Row>, DatabaseError>>,
    ended: Result<(), DatabaseError>,
    end: End,
) -> Result<Results, Error> {
    begun.map_err(|error| translate(&error))?;
    let mut answered = Vec::with_capacity(results.len());
    let mut has_failed = false;
    for (step, result) in steps.iter().zip(results) {
        match (step, result) {
            (Step::As(scope), Err(error)) if !has_failed => return Err(scope_error(scope, &error)),
            (Step::As(_), _) => {}
            (Step::ReadThenAs(_, _, scope), Err(error)) if !has_failed && is_role_refused(scope, &error) => {
                return Err(scope_error(scope, &error));
            }
            (Step::ReadThenAs(..) | Step::Run(_), result) => {
                has_failed |= result.is_err();
                answered.push(result.map_err(|error| translate(&error)));
            }
        }
    }
    // COMMIT of a failed transaction rolls it back and succeeds: the failure is among the results.
    if end == End::Commit && !has_failed {
        ended.map_err(|error| translate(&error))?;
    }
    Ok(answered)
}

/// Whether this is about the role of a token.
fn is_role_refused(scope: &Scope, error: &DatabaseError) -> bool {
    let refused = error
        .code()
        .is_some_and(|code| *code == SqlState::INVALID_PARAMETER_VALUE || *code == SqlState::INSUFFICIENT_PRIVILEGE);
    refused && !scope.is_service
}

/// The error of a role that does not exist, or that the login role may not become.
fn scope_error(scope: &Scope, error: &DatabaseError) -> Error {
    if is_role_refused(scope, error) {
        let cause = format!("the role of the token: {}", error_chain(error));
        return Error::role_refused().because(cause);
    }
    translate(error)
}

/// Runs a statement, which is prepared at the first use.
async fn run(connection: &Connection, statement: &Sql) -> Result<Vec<Row>, DatabaseError> {
    let known = match connection.find(statement) {
        Known::New => Known::Repeated,
        known => known,
    };
    // The preparation is sent first: what it refuses the statement would refuse too.
    let (prepared, result) =
        future::join(connection.prepare(&known, statement), connection.run(&known, statement)).await;
    prepared.and(result)
}

/// The error of the pool: it does not say to clients where the database is.
fn pool_error(error: &postgrest_rs::error::Error) -> Error {
    let cause = format!("{}: {}", error.code, error.message);
    if cause.contains("too many clients") || cause.contains("remaining connection slots") {
        return Error::slow_down().because(cause);
    }
    Error::new(Code::DatabaseTimeout, 544, "The connection to the database timed out").because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_arrays_are_quoted() {
        assert_eq!(array(["a\"b", "c\\d", ""]), Value::Text(r#"{"a\"b","c\\d",""}"#.to_owned()));
    }
}
