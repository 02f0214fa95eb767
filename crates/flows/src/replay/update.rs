//! Writes new values into the files of flows that differ.

use serde_json::Value;

use super::files::FlowFile;
use super::outcome::FileOutcome;
use crate::FlowError;
use crate::compare::{update, update_redacted};
use crate::format::{Action, HeaderComparison, RequestStep, replace_file};
use crate::record::{Context, redact_response, redact_value};

/// Writes the observed values into the file; returns whether something changed.
///
/// Of a recording, whose headers are compared as [`HeaderComparison::Relevant`], new values are redacted as the recorder
/// does. Files with exact headers are written by hand for servers of tests and get the values as they are.
///
/// # Errors
/// The file cannot be written.
pub fn update_file(file: &FlowFile, outcome: &FileOutcome) -> Result<bool, FlowError> {
    let mut flow = file.flow.clone();
    let is_recording = flow.headers == HeaderComparison::Relevant;
    for step in outcome.outcome.steps.iter().filter(|step| !step.differences.is_empty()) {
        let Some(observed) = &step.observed else { continue };
        match flow.steps.get_mut(step.number).map(|step| &mut step.action) {
            Some(Action::Request(request)) => update_request(request, observed, is_recording),
            Some(Action::Note { expect, is_subset, .. }) if is_recording => {
                *expect = update_redacted(expect, (observed, &redact_value(observed)), *is_subset);
            }
            Some(Action::Note { expect, is_subset, .. }) => *expect = update(expect, observed, *is_subset),
            _ => {}
        }
    }
    if flow == file.flow {
        return Ok(false);
    }
    let failed =
        |error: std::io::Error| FlowError::new(format!("{}: {error}", file.path.display()), "check its permissions");
    replace_file(&file.path, &flow.to_text()).map_err(failed)?;
    Ok(true)
}

fn update_request(request: &mut RequestStep, observed: &Value, is_recording: bool) {
    let Some(expect) = &mut request.expect else { return };
    if !is_recording {
        *expect = update(expect, observed, request.is_subset);
        return;
    }
    let mut observed = observed.clone();
    if let Some(headers) = observed["headers"].as_object_mut() {
        headers.retain(|name, _| expect["headers"].get(name).is_some());
    }
    let redacted = redact_response(&observed, request.service, Context::default());
    *expect = update_redacted(expect, (&observed, &redacted), request.is_subset);
}
