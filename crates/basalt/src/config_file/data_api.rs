//! `[api]` of the Supabase CLI, as far as it is about the data API, and `[basalt.data_api]`.

use super::read::Values;

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
        Self {
            is_enabled: values.is_enabled("api.enabled", true),
            schemas: list("api.schemas", &["public", "graphql_public"]),
            extra_search_path: list("api.extra_search_path", &["public", "extensions"]),
            max_rows: max_rows.unwrap_or(1_000),
            database_url: text("basalt.data_api.database_url").map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{ConfigFile, Problem};
    use super::*;

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
    }
}
