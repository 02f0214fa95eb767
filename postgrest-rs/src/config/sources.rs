//! Where settings come from, and how their texts are read.

use std::collections::BTreeMap;
use std::time::Duration;

use super::file;
use crate::request::QualifiedName;

/// Where settings come from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The file: names with dashes.
    pub file: BTreeMap<String, String>,
    /// The environment: names that begin with `PGRST_`.
    pub environment: BTreeMap<String, String>,
    /// The database: names of [`DATABASE_SETTINGS`](super::DATABASE_SETTINGS).
    pub database: BTreeMap<String, String>,
}

impl Sources {
    /// The file and the environment of the process.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: Option<&std::path::Path>) -> Result<Self, String> {
        let file = match path {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
                file::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?
            }
            None => BTreeMap::new(),
        };
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| name.starts_with("PGRST_"))?;
            Some((name, value.into_string().ok()?))
        });
        Ok(Self { file, environment: environment.collect(), database: BTreeMap::new() })
    }

    /// A setting, empty or not.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        let underscored = name.replace('-', "_");
        let variable = format!("PGRST_{}", underscored.to_uppercase());
        let found = self.database.get(&underscored).or_else(|| self.environment.get(&variable));
        found.or_else(|| self.file.get(name)).map(String::as_str)
    }

    /// A setting that is not empty, by its name or a former one.
    pub(super) fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.find(name).filter(|value| !value.is_empty()))
    }

    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.text(&[name]).map(str::to_owned)
    }

    pub(super) fn number<T: std::str::FromStr>(&self, names: &[&str], default: T) -> T {
        names.iter().find_map(|name| self.find(name)?.trim().parse().ok()).unwrap_or(default)
    }

    /// A truth value in any case, with quotation marks around or not; other texts count as absent, numbers as false at 0.
    pub(super) fn truth(&self, names: &[&str], default: bool) -> bool {
        self.find_truth(names).unwrap_or(default)
    }

    pub(super) fn find_truth(&self, names: &[&str]) -> Option<bool> {
        let read = |name: &&str| {
            let value = self.find(name)?.trim().trim_matches('"');
            match value.to_lowercase().as_str() {
                "true" => Some(true),
                "false" => Some(false),
                other => other.parse::<i64>().ok().map(|number| number > 0),
            }
        };
        names.iter().find_map(read)
    }

    pub(super) fn seconds(&self, names: &[&str], default: u64) -> Duration {
        Duration::from_secs(self.number(names, default))
    }

    pub(super) fn name(&self, names: &[&str]) -> Option<QualifiedName> {
        self.text(names).map(|text| match text.split_once('.') {
            Some((schema, name)) => QualifiedName { schema: schema.to_owned(), name: name.to_owned() },
            None => QualifiedName { schema: String::new(), name: text.to_owned() },
        })
    }

    /// Settings of functions: `app.settings.*` of the file, `PGRST_APP_SETTINGS_*` of the environment.
    pub(super) fn app_settings(&self) -> BTreeMap<String, String> {
        let of_file = self.file.iter().filter(|(name, _)| name.starts_with("app.settings."));
        let mut settings: BTreeMap<_, _> = of_file.map(|(name, value)| (name.clone(), value.clone())).collect();
        for (name, value) in &self.environment {
            if let Some(name) = name.strip_prefix("PGRST_APP_SETTINGS_") {
                settings.insert(format!("app.settings.{name}"), value.clone());
            }
        }
        settings
    }
}

/// The texts between commas, without blanks around.
pub(super) fn split_commas(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_owned()).collect()
}
