//! Counters in the database, changed by one statement.

use super::error::StoreError;
use super::operation::{StoreOperation, StoreOutcome};
use crate::store::Pool;
use crate::store::limit_counters::{CounterOperations, CounterTable};

/// The number of expired counters that are deleted at a time.
const DELETE_AT_ONCE: i64 = 1000;

/// The table of counters in the database.
#[derive(Debug)]
pub(super) struct PostgresStore {
    table: CounterTable,
}

impl PostgresStore {
    /// A store in the database of the pool.
    pub(super) fn new(pool: &Pool) -> Self {
        Self { table: CounterTable::new(pool.clone()) }
    }

    /// Applies the operations.
    pub(super) async fn run(&self, operations: &[StoreOperation]) -> Result<Vec<StoreOutcome>, StoreError> {
        let mut columns = CounterOperations::default();
        for StoreOperation { kind, key, rate, size, span } in operations {
            columns.kinds.push(kind.as_str().to_owned());
            columns.keys.push(key.clone());
            columns.rates.push(*rate);
            columns.sizes.push(*size);
            columns.spans.push(*span);
        }
        let rows = self.table.count(columns).await?;
        let outcomes = rows.into_iter().map(|(status, wait)| StoreOutcome::decode(status.into(), wait));
        outcomes.collect::<Option<_>>().ok_or(super::reply::MalformedReply.into())
    }

    /// Deletes expired counters in batches. A failure is only logged: the next run deletes them.
    pub(super) async fn delete_expired(&self) {
        loop {
            match self.table.delete_expired(DELETE_AT_ONCE).await {
                Ok(deleted) if deleted >= DELETE_AT_ONCE.unsigned_abs() => {}
                Ok(_) => return,
                Err(error) => return tracing::warn!(%error, "deleting expired counters of rate limits failed"),
            }
        }
    }
}
