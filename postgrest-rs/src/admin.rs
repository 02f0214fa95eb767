//! What the administration port tells.

use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use crate::service::DataApi;

impl DataApi {
    /// Figures in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        let (pool, tokens) = (self.pool().figures(), self.token_figures());
        let maximum = self.config().db_pool;
        let gauges = [
            ("pgrst_db_pool_available", "Available connections in the pool", pool.idle),
            ("pgrst_db_pool_in_use", "Connections in use", pool.in_use),
            ("pgrst_db_pool_max", "Max pool connections", maximum),
            ("pgrst_db_pool_waiting", "Requests that wait for a connection", pool.waiting),
            ("pgrst_schema_cache_loaded", "Whether the schema cache is loaded", usize::from(self.cache().is_some())),
        ];
        let counters = [
            ("pgrst_db_pool_timeouts_total", "Requests that waited too long for a connection", pool.timeouts),
            ("pgrst_jwt_cache_requests_total", "Tokens that were looked up in the cache", tokens.requests),
            ("pgrst_jwt_cache_hits_total", "Tokens that were found in the cache", tokens.hits),
            ("pgrst_jwt_cache_evictions_total", "Tokens that others displaced from the cache", tokens.evictions),
        ];
        let gauges = gauges.map(|(name, help, value)| (name, help, "gauge", value as u64));
        let counters = counters.map(|(name, help, value)| (name, help, "counter", value));
        let mut text = String::new();
        for (name, help, kind, value) in gauges.into_iter().chain(counters) {
            // Writing to a string does not fail.
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        }
        let loads = self.loads();
        let query_time = Duration::from_micros(loads.query_time.load(Ordering::Relaxed));
        let (succeeded, failed) = (loads.succeeded.load(Ordering::Relaxed), loads.failed.load(Ordering::Relaxed));
        let _ = write!(
            text,
            "# HELP pgrst_schema_cache_query_time_seconds Duration of the queries of the last load of the schema cache\n\
             # TYPE pgrst_schema_cache_query_time_seconds gauge\n\
             pgrst_schema_cache_query_time_seconds {}\n\
             # HELP pgrst_schema_cache_loads_total Loads of the schema cache\n\
             # TYPE pgrst_schema_cache_loads_total counter\n\
             pgrst_schema_cache_loads_total{{status=\"SUCCESS\"}} {succeeded}\n\
             pgrst_schema_cache_loads_total{{status=\"FAIL\"}} {failed}\n",
            query_time.as_secs_f64()
        );
        text
    }

    /// The names in the schema cache, as JSON; null before it is loaded.
    ///
    /// # Errors
    /// The database did not tell its time zones, which are read when they are needed.
    pub async fn summarize_cache(&self) -> Result<String, String> {
        let Some(cache) = self.cache() else { return Ok("null".to_owned()) };
        self.read_timezones(&cache).await?;
        let name = |schema: &str, name: &str| format!("{schema}.{name}");
        let mut tables: Vec<_> = cache.tables.values().map(|table| name(&table.schema, &table.name)).collect();
        let mut functions: Vec<_> =
            cache.functions.values().flatten().map(|function| name(&function.schema, &function.name)).collect();
        tables.sort();
        functions.sort();
        let relationships: usize = cache.relationships.values().map(Vec::len).sum();
        let summary = json!({
            "dbTables": tables,
            "dbRoutines": functions,
            "dbRelationships": relationships,
            "dbRepresentations": cache.representations.len(),
            "dbMediaHandlers": cache.handlers.len(),
            "dbTimezones": cache.timezones.count(),
        });
        Ok(summary.to_string())
    }
}
