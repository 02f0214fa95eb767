//! `[api]` of the Supabase CLI, as far as it is about the data API, and `[basalt.data_api]`.

use std::ops::RangeInclusive;
use std::time::Duration;

use gotrue_rules::wire::go_duration::GoDuration;

use super::read::Values;

const REQUEST_TIMEOUT: &str = "basalt.data_api.request_timeout";
const MAX_CONNECTIONS: &str = "basalt.data_api.max_connections";

/// As PostgREST's `db-pool`.
const DEFAULT_CONNECTIONS: u32 = 10;

const VALID_CONNECTIONS: RangeInclusive<u32> = 1..=1_000;

/// Longer than the statements of Supabase's databases, which end after two minutes.
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(150);

const VALID_TIMEOUTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataApiSettings {
    /// `[api] enabled`: whether it is served.
    pub is_enabled: bool,
    /// `[api] schemas`: the exposed ones; the first is the default.
    pub schemas: Vec<String>,
    /// `[api] extra_search_path`.
    pub extra_search_path: Vec<String>,
    /// `[api] max_rows`: the most rows of a response.
    pub max_rows: u64,
    /// `[basalt.data_api] database_url`: the login role for an external database.
    pub database_url: Option<String>,
    /// `[basalt.data_api] request_timeout`: how long a request may take once its body is there.
    pub request_timeout: Duration,
    /// `[basalt.data_api] max_connections`: the most connections to the database, besides the one that listens for changes.
    pub max_connections: u32,
    /// `[basalt.data_api] prepared_statements`: whether statements are prepared; `None`: unless there is a pooler.
    pub prepares_statements: Option<bool>,
}

impl DataApiSettings {
    /// Reads the settings; defaults are those of the CLI.
    pub(super) fn from_values(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> Self {
        let list = |key: &str, usual: &[&str]| match values.get(key) {
            Some(value) if !value.items.is_empty() => value.items.clone(),
            _ => usual.iter().map(|&name| name.to_owned()).collect(),
        };
        let text = |key: &str| values.text(key).filter(|text| !text.is_empty());
        let max_rows = text("api.max_rows").map_or(Some(1_000), |count| count.parse().ok().filter(|count| *count > 0));
        if max_rows.is_none() {
            refuse("api.max_rows", "must be a number of rows, at least 1");
        }
        let mut request_timeout = DEFAULT_REQUEST_TIMEOUT;
        if let Some(given) = text(REQUEST_TIMEOUT) {
            match GoDuration::parse(given).map(GoDuration::to_std).filter(|given| VALID_TIMEOUTS.contains(given)) {
                Some(given) => request_timeout = given,
                None => refuse(REQUEST_TIMEOUT, "must be a length of time from \"1s\" to \"24h\""),
            }
        }
        let mut max_connections = DEFAULT_CONNECTIONS;
        if let Some(given) = text(MAX_CONNECTIONS) {
            match given.parse().ok().filter(|given| VALID_CONNECTIONS.contains(given)) {
                Some(given) => max_connections = given,
                None => refuse(MAX_CONNECTIONS, "must be a number of connections, from 1 to 1000"),
            }
        }
        Self {
            is_enabled: values.is_enabled("api.enabled", true),
            schemas: list("api.schemas", &["public", "graphql_public"]),
            extra_search_path: list("api.extra_search_path", &["public", "extensions"]),
            max_rows: max_rows.unwrap_or(1_000),
            database_url: text("basalt.data_api.database_url").map(str::to_owned),
            request_timeout,
            max_connections,
            prepares_statements: text("basalt.data_api.prepared_statements").map(|given| given == "true"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ConfigFile;
    use super::*;
    use crate::problem::Problem;

    fn read(lines: &str) -> Result<DataApiSettings, Vec<Problem>> {
        ConfigFile::read(Path::new("config.toml"), lines, &|_| Ok(None)).map(|file| file.basalt.data_api)
    }

    #[test]
    fn settings_of_the_cli_are_read() {
        let usual = read("").expect("valid");
        assert_eq!((usual.is_enabled, usual.max_rows, usual.schemas.len()), (true, 1_000, 2));
        let own = read("[api]\nenabled = false\nschemas = [\"app\"]\nmax_rows = 5\n").expect("valid");
        assert_eq!((own.is_enabled, own.max_rows, own.schemas), (false, 5, vec!["app".to_owned()]));
        assert!(read("[api]\nmax_rows = 0").is_err());
        let limited = read("[basalt.data_api]\nrequest_timeout = \"5s\"").expect("valid");
        assert_eq!((usual.request_timeout, limited.request_timeout), (DEFAULT_REQUEST_TIMEOUT, Duration::from_secs(5)));
        assert!(read("[basalt.data_api]\nrequest_timeout = \"0s\"").is_err());
    }

    #[test]
    fn connections_and_preparation_are_read() {
        let usual = read("").expect("valid");
        assert_eq!((usual.max_connections, usual.prepares_statements), (DEFAULT_CONNECTIONS, None));
        let own = read("[basalt.data_api]\nmax_connections = 40\nprepared_statements = false\n").expect("valid");
        assert_eq!((own.max_connections, own.prepares_statements), (40, Some(false)));
        let prepared = read("[basalt.data_api]\nprepared_statements = true\n").expect("valid");
        assert_eq!(prepared.prepares_statements, Some(true));
        for invalid in ["max_connections = 0", "max_connections = 1001", "prepared_statements = \"sometimes\""] {
            let problems = read(&format!("[basalt.data_api]\n{invalid}\n")).expect_err(invalid);
            assert_eq!(problems.len(), 1, "{invalid}: {problems:?}");
        }
    }
}
