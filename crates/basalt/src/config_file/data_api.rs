//! `[api]` of the Supabase CLI, as far as it is about the data API, and `[basalt.data_api]`.

use std::ops::RangeInclusive;
use std::time::Duration;

use gotrue_rules::wire::go_duration::GoDuration;

use super::read::Values;

const REQUEST_TIMEOUT: &str = "basalt.data_api.request_timeout";

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
        Self {
            is_enabled: values.is_enabled("api.enabled", true),
            schemas: list("api.schemas", &["public", "graphql_public"]),
            extra_search_path: list("api.extra_search_path", &["public", "extensions"]),
            max_rows: max_rows.unwrap_or(1_000),
            database_url: text("basalt.data_api.database_url").map(str::to_owned),
            request_timeout,
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
}
