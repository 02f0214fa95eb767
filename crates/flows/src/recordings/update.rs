//! Fills the observed values into recordings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::groups::count_recorded;
use super::list::RecordingList;
use super::options::RecordingsOptions;
use super::outcome::RecordingOutcome;
use crate::FlowError;
use crate::replay::{FileOutcome, find_flows, update_file};

/// Writes the observed values into the files of flows that differ, and lists new recordings.
///
/// A flow that ended early is not written. Returns the files that changed.
///
/// # Errors
/// A file cannot be read or written.
pub fn update_recordings(
    options: &RecordingsOptions,
    outcomes: &[RecordingOutcome],
) -> Result<Vec<PathBuf>, FlowError> {
    let mut written = Vec::new();
    let mut found = BTreeMap::new();
    for recording in outcomes.iter().filter(|recording| recording.outcome.error.is_none()) {
        for file in find_flows(std::slice::from_ref(&recording.path), &[])? {
            let mut outcome = recording.outcome.clone();
            // The members of recorded responses are in the order of their names.
            outcome.steps.iter_mut().filter_map(|step| step.observed.as_mut()).for_each(Value::sort_all_objects);
            let (path, name) = (file.path.clone(), file.flow.name.clone());
            let outcome = FileOutcome { path, name, outcome, duration: Duration::ZERO };
            if update_file(&file, &outcome)? {
                written.push(file.path.clone());
            }
            found.insert(recording.name.as_str(), count_recorded(&file.flow));
        }
    }
    if let Some(path) = &options.list
        && RecordingList::load(path)?.extend(&found)?
    {
        written.push(path.clone());
    }
    Ok(written)
}
