//! `basalt.limit_counters`: rate limits that several servers share.
//!
//! The functions of `sql/basalt/0008-limit-counters.sql` read the clock of the database, which all servers share.

use super::Result;
use super::binding::{bind, statements};
use super::pool::Pool;
use super::statement::Connection;
use std::sync::Arc;

statements! {
    COUNT = "limit_counters.count": "
        SELECT status, wait
        FROM basalt.count_limits(:kinds::text[], :keys::text[], :rates::float8[], :sizes::float8[], :spans::float8[])";

    DELETE_EXPIRED = "limit_counters.delete_expired": "
        DELETE FROM basalt.limit_counters
        WHERE key IN (
            SELECT key
            FROM basalt.limit_counters
            WHERE expires_at < extract(epoch FROM clock_timestamp())
            ORDER BY expires_at
            LIMIT :limit
            FOR UPDATE SKIP LOCKED
        )";
}

/// Operations on counters, as the columns of their parameters.
#[derive(Debug, Default)]
pub struct CounterOperations {
    /// The kinds, such as `take`.
    pub kinds: Vec<String>,
    /// The keys of the counters.
    pub keys: Vec<String>,
    /// The tokens gained per second.
    pub rates: Vec<f64>,
    /// The capacities.
    pub sizes: Vec<f64>,
    /// The lifetimes in seconds.
    pub spans: Vec<f64>,
}

/// The counters, for use outside a request.
#[derive(Debug, Clone)]
pub struct CounterTable(Pool);

impl CounterTable {
    /// Creates the table of this database.
    pub fn new(pool: Pool) -> Self {
        Self(pool)
    }

    /// Applies the operations up to the first that is refused; returns status and wait in seconds of each.
    pub async fn count(&self, operations: CounterOperations) -> Result<Vec<(i32, f64)>> {
        let CounterOperations { kinds, keys, rates, sizes, spans } = operations;
        self.connection().fetch_all(bind!(COUNT, kinds, keys, rates, sizes, spans)).await
    }

    /// Deletes expired counters, at most `limit`; returns their number.
    pub async fn delete_expired(&self, limit: i64) -> Result<u64> {
        self.connection().execute(bind!(DELETE_EXPIRED, limit)).await
    }

    fn connection(&self) -> Connection {
        Connection::pooled(self.0.clone(), Arc::default())
    }
}
