//! A connection with the statements that it has prepared.

use std::sync::{Arc, Mutex, PoisonError};

use hashlink::LruCache;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use super::spool::Diversion;
use crate::sql::Sql;

/// The most statements that a connection remembers. PostgreSQL keeps a plan of about 100 kB for each that is prepared.
const MAXIMUM_STATEMENTS: usize = 128;

/// The longest text that is prepared, in bytes.
const MAXIMUM_TEXT: usize = 16 * 1024;

/// A connection with the statements that are prepared on it.
#[derive(Debug)]
pub struct Connection {
    client: Client,
    diversion: Arc<Diversion>,
    /// The statements by text; without a value one that was run once.
    statements: Option<Mutex<LruCache<String, Option<Statement>>>>,
}

/// What a connection knows of a statement.
pub enum Known {
    /// It is prepared.
    Prepared(Statement),
    /// It was run before: worth preparing.
    Repeated,
    /// It was not run lately, or is not prepared at all.
    New,
}

impl Connection {
    /// A connection; `prepares` tells whether it may hold prepared statements.
    pub fn new(client: Client, diversion: Arc<Diversion>, prepares: bool) -> Self {
        let statements = prepares.then(|| Mutex::new(LruCache::new(MAXIMUM_STATEMENTS)));
        Self { client, diversion, statements }
    }

    /// The connection itself.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Where large bodies of its results go.
    pub fn diversion(&self) -> &Diversion {
        &self.diversion
    }

    /// What is known of a statement, which counts as run now.
    pub fn find(&self, sql: &Sql) -> Known {
        let Some(statements) = self.statements.as_ref().filter(|_| sql.text.len() <= MAXIMUM_TEXT) else {
            return Known::New;
        };
        let mut statements = statements.lock().unwrap_or_else(PoisonError::into_inner);
        match statements.get(sql.text.as_str()) {
            Some(Some(statement)) => Known::Prepared(statement.clone()),
            Some(None) => Known::Repeated,
            None => {
                statements.insert(sql.text.clone(), None);
                Known::New
            }
        }
    }

    /// Prepares a statement that was run before; other ones are left alone. The transaction fails only where the statement would
    /// fail too.
    ///
    /// # Errors
    /// PostgreSQL refused the statement.
    pub async fn prepare(&self, known: &Known, sql: &Sql) -> Result<(), Error> {
        let (Known::Repeated, Some(statements)) = (known, &self.statements) else { return Ok(()) };
        let statement = self.client.prepare(&sql.text).await?;
        statements.lock().unwrap_or_else(PoisonError::into_inner).insert(sql.text.clone(), Some(statement));
        Ok(())
    }

    /// Runs a statement. Its values have the types that PostgreSQL infers.
    ///
    /// # Errors
    /// PostgreSQL refused the statement.
    pub async fn run(&self, known: &Known, sql: &Sql) -> Result<Vec<Row>, Error> {
        if let Known::Prepared(statement) = known {
            let values: Vec<&(dyn ToSql + Sync)> = sql.values.iter().map(|value| value as _).collect();
            return self.client.query(statement, &values).await;
        }
        let values: Vec<(&(dyn ToSql + Sync), Type)> =
            sql.values.iter().map(|value| (value as _, Type::UNKNOWN)).collect();
        self.client.query_typed(&sql.text, &values).await
    }

    /// Forgets all prepared statements: PostgreSQL does not know them any more, or their results have changed.
    ///
    /// Answers whether there were any.
    pub fn forget(&self) -> bool {
        let Some(statements) = &self.statements else { return false };
        let mut statements = statements.lock().unwrap_or_else(PoisonError::into_inner);
        let had_some = statements.iter().any(|(_, statement)| statement.is_some());
        statements.clear();
        had_some
    }
}
