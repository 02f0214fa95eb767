//! The names of time zones, for `Prefer: timezone=`.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::OnceCell;
use tokio_postgres::Client;

use crate::execute::error_chain;

/// The names of time zones that the database knows, shared by all caches of a data API.
///
/// They are read when the first request names one: the database reads a file for each of some 1,200.
#[derive(Debug, Clone, Default)]
pub struct Timezones(Arc<OnceCell<HashSet<String>>>);

impl Timezones {
    /// Whether the names were read.
    pub fn are_known(&self) -> bool {
        self.0.initialized()
    }

    /// Reads the names over a new connection, unless they were read before. Of concurrent calls one connects and reads.
    ///
    /// # Errors
    /// The database could not be reached or refused the query, in words; the next call tries again.
    pub async fn read(&self, connect: impl AsyncFnOnce() -> Result<Client, String>) -> Result<(), String> {
        let query = async || {
            let rows = connect().await?.query_typed("SELECT name FROM pg_catalog.pg_timezone_names", &[]).await;
            let names = rows.and_then(|rows| rows.iter().map(|row| row.try_get(0)).collect());
            names.map_err(|error| error_chain(&error))
        };
        self.0.get_or_try_init(query).await.map(drop)
    }

    /// Whether it is the name of a time zone. No name is, before they were read.
    pub fn contains(&self, name: &str) -> bool {
        self.0.get().is_some_and(|names| names.contains(name))
    }

    /// The number of time zones.
    pub fn count(&self) -> usize {
        self.0.get().map_or(0, HashSet::len)
    }
}
