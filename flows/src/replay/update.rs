//! Writes new values into the files of flows that differ.

use std::path::Path;

use super::files::FlowFile;
use super::outcome::FileOutcome;
use crate::FlowError;
use crate::compare;
use crate::format::{Action, Flow};

/// Writes the observed values into the file; returns whether something changed.
///
/// # Errors
/// The file cannot be written.
pub fn update_file(file: &FlowFile, outcome: &FileOutcome) -> Result<bool, FlowError> {
    let mut flow = file.flow.clone();
    for step in outcome.outcome.steps.iter().filter(|step| !step.differences.is_empty()) {
        let Some(observed) = &step.observed else { continue };
        match flow.steps.get_mut(step.number).map(|step| &mut step.action) {
            Some(Action::Request(request)) => {
                if let Some(expect) = &mut request.expect {
                    let mut observed = observed.clone();
                    if flow.headers == crate::format::HeaderComparison::Relevant {
                        keep_named_headers(&mut observed, expect);
                    }
                    *expect = compare::update(expect, &observed, request.is_subset);
                }
            }
            Some(Action::Note { expect, is_subset, .. }) => *expect = compare::update(expect, observed, *is_subset),
            _ => {}
        }
    }
    if flow == file.flow {
        return Ok(false);
    }
    write_atomically(&file.path, &flow)?;
    Ok(true)
}

fn keep_named_headers(observed: &mut serde_json::Value, expect: &serde_json::Value) {
    if let Some(headers) = observed["headers"].as_object_mut() {
        headers.retain(|name, _| expect["headers"].get(name).is_some());
    }
}

/// Replaces the file, so that it is whole at every moment.
fn write_atomically(path: &Path, flow: &Flow) -> Result<(), FlowError> {
    let failed =
        |error: std::io::Error| FlowError::new(format!("{}: {error}", path.display()), "check its permissions");
    let new = path.with_extension("json.new");
    std::fs::write(&new, flow.to_text()).map_err(failed)?;
    std::fs::rename(&new, path).map_err(failed)
}
