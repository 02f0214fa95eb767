//! The list of the recordings, so that none disappears.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wildmatch::WildMatch;

use crate::FlowError;

/// The recordings that must be there, each with the number of its compared steps.
#[derive(Debug)]
pub(super) struct RecordingList {
    path: PathBuf,
    steps: BTreeMap<String, usize>,
}

impl RecordingList {
    /// Reads the list: an object of numbers by name.
    pub(super) fn load(path: &Path) -> Result<Self, FlowError> {
        let failed = |problem: String| {
            FlowError::new(format!("{}: {problem}", path.display()), "restore the file: it is part of the repository")
        };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let parsed: BTreeMap<String, Value> = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let mut steps = BTreeMap::new();
        for (name, count) in parsed {
            let number = count.as_u64().and_then(|number| usize::try_from(number).ok());
            let number = number.ok_or_else(|| failed(format!("{name} has no number of compared steps")))?;
            steps.insert(name, number);
        }
        Ok(Self { path: path.to_owned(), steps })
    }

    /// Checks that every listed recording that is selected is there with its compared steps, and no other.
    ///
    /// During an update there may be new recordings and new steps.
    pub(super) fn check(
        &self,
        found: &BTreeMap<&str, usize>,
        only: &[String],
        is_update: bool,
    ) -> Result<(), FlowError> {
        let is_selected = |name: &str| only.is_empty() || only.iter().any(|glob| WildMatch::new(glob).matches(name));
        let mut problems = Vec::new();
        for (name, steps) in self.steps.iter().filter(|(name, _)| is_selected(name)) {
            match found.get(name.as_str()) {
                None => problems.push(format!("{name} is missing")),
                Some(compared) if compared < steps => {
                    problems.push(format!("{name} compares {compared} steps instead of {steps}"));
                }
                Some(compared) if compared > steps && !is_update => {
                    problems.push(format!("{name} compares {compared} steps, and the list says {steps}"));
                }
                Some(_) => {}
            }
        }
        let unknown = found.keys().filter(|name| !is_update && !self.steps.contains_key(**name));
        problems.extend(unknown.map(|name| format!("{name} is not in the list")));
        if problems.is_empty() {
            return Ok(());
        }
        Err(FlowError::new(
            format!("{}: {}", self.path.display(), problems.join(", ")),
            "restore what is missing; a new recording is listed when --update fills it in",
        ))
    }

    /// Lists new recordings and new steps; returns whether there are any.
    pub(super) fn extend(&mut self, found: &BTreeMap<&str, usize>) -> Result<bool, FlowError> {
        let before = self.steps.clone();
        for (name, compared) in found {
            let steps = self.steps.entry((*name).to_owned()).or_default();
            *steps = (*steps).max(*compared);
        }
        if self.steps == before {
            return Ok(false);
        }
        let lines: Vec<String> =
            self.steps.iter().map(|(name, steps)| format!(" {}: {steps}", Value::from(name.as_str()))).collect();
        let failed = |error: std::io::Error| {
            FlowError::new(format!("{}: {error}", self.path.display()), "check its permissions")
        };
        std::fs::write(&self.path, format!("{{\n{}\n}}\n", lines.join(",\n"))).map_err(failed)?;
        Ok(true)
    }
}
