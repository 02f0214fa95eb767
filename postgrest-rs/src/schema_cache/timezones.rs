//! The names of time zones, for `Prefer: timezone=`.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::OnceCell;
use tokio_postgres::{Client, Error};

/// The names of time zones that the database knows, shared by all caches of a data API.
///
/// They are read when the first request names one: the database reads a file for each, which takes longer than all
/// catalogs of a usual schema.
#[derive(Debug, Clone, Default)]
pub struct Timezones(Arc<OnceCell<HashSet<String>>>);

impl Timezones {
    /// Whether the names were read.
    pub fn are_known(&self) -> bool {
        self.0.initialized()
    }

    /// Reads the names, unless they were read before.
    ///
    /// # Errors
    /// The database refused the query; the next call tries again.
    pub async fn read(&self, client: &Client) -> Result<(), Error> {
        let query = async || {
            let rows = client.query_typed("SELECT name FROM pg_catalog.pg_timezone_names", &[]).await?;
            rows.iter().map(|row| row.try_get(0)).collect()
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
