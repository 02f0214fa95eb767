//! The settings of flows, which files can share.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::flow::Flow;
use crate::FlowError;

/// The most files that extend each other.
const MAX_DEPTH: usize = 8;
const HINT: &str = "a file of settings is an object with extends, env or config";

/// The settings of a flow with those that it extends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Variables of the profile `gotrue`.
    pub env: Map<String, Value>,
    /// Settings in the shape of `config.toml`, of the profile `serve`.
    pub config: Map<String, Value>,
    /// Statements that run before the start.
    pub sql: Vec<String>,
    /// Whether the recorder guessed them, so that the settings of a project are better.
    pub are_inferred: bool,
    /// Members that stand-ins read.
    pub others: Map<String, Value>,
    /// The folder of the first file, to which paths in values are relative.
    pub folder: PathBuf,
}

/// Reads the settings of a flow whose file is in this folder.
///
/// Files that they extend must lie in `root`, unless it is `None`.
///
/// # Errors
/// A file that they extend is missing or invalid, or lies elsewhere.
pub fn load_settings(flow: &Flow, folder: &Path, root: Option<&Path>) -> Result<Settings, FlowError> {
    load(flow.settings.clone(), folder, root, 0)
}

impl Settings {
    /// Returns the settings for a server that has those of a project.
    ///
    /// Of inferred ones only the simulated providers remain.
    #[must_use]
    pub fn for_project(mut self) -> Self {
        if self.are_inferred {
            self.config.retain(|name, _| name == "basalt");
        }
        self
    }
}

fn load(
    mut members: Map<String, Value>,
    folder: &Path,
    root: Option<&Path>,
    depth: usize,
) -> Result<Settings, FlowError> {
    let mut settings = match members.shift_remove("extends") {
        None => Settings { folder: folder.to_owned(), ..Settings::default() },
        Some(Value::String(path)) if depth < MAX_DEPTH => {
            let path = folder.join(path);
            let place = path.display().to_string();
            let lies_in = |root: &Path| {
                path.canonicalize().is_ok_and(|path| root.canonicalize().is_ok_and(|root| path.starts_with(root)))
            };
            if path.exists() && root.is_some_and(|root| !lies_in(root)) {
                let problem = format!("{place}: settings.extends names a file outside of the folder of the flows");
                return Err(FlowError::new(problem, "replay the folder that has both, or use --allow-files"));
            }
            let text = std::fs::read_to_string(&path)
                .map_err(|error| FlowError::new(format!("{place}: {error}"), "settings.extends names this file"))?;
            let parsed = serde_json::from_str(&text)
                .map_err(|error| FlowError::new(format!("{place}: it is no JSON object: {error}"), HINT))?;
            load(parsed, path.parent().unwrap_or(folder), root, depth + 1)?
        }
        Some(_) => return Err(FlowError::new("settings.extends is no path, or the files extend each other", HINT)),
    };
    members.shift_remove("about");
    for (name, value) in members {
        match (name.as_str(), value) {
            ("env", Value::Object(env)) => merge(&mut settings.env, env),
            ("config", Value::Object(config)) => merge(&mut settings.config, config),
            ("sql", Value::Array(statements)) => {
                settings.sql.extend(statements.into_iter().filter_map(|one| one.as_str().map(str::to_owned)));
            }
            ("inferred", Value::Bool(inferred)) => settings.are_inferred = inferred,
            ("env" | "config" | "sql" | "inferred", _) => {
                return Err(FlowError::new(format!("settings.{name} has another type"), HINT));
            }
            (_, value) => merge(&mut settings.others, Map::from_iter([(name, value)])),
        }
    }
    Ok(settings)
}

/// Merges members; null removes one (RFC 7396).
fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (_, Value::Null) => drop(into.shift_remove(&name)),
            (Some(Value::Object(inner)), Value::Object(changed)) => merge(inner, changed),
            (_, value) => drop(into.insert(name, value)),
        }
    }
}
