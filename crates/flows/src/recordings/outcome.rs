//! What became of a recording.

use std::path::PathBuf;

use super::groups::count_recorded;
use super::mutation::ChangedValue;
use crate::replay::FlowFile;
use crate::runner::FlowOutcome;

/// What became of a recording.
#[derive(Debug, Clone)]
pub struct RecordingOutcome {
    /// The name of the flow.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// How many recorded steps its file has.
    pub recorded: usize,
    /// What became of its steps.
    pub outcome: FlowOutcome,
    /// The expected value that was changed.
    pub changed: Option<ChangedValue>,
}

impl RecordingOutcome {
    /// Joins a file with what became of its flow.
    pub(super) fn new(file: &FlowFile, outcome: FlowOutcome, changed: Option<ChangedValue>) -> Self {
        let (name, path) = (file.flow.name.clone(), file.path.clone());
        Self { name, path, recorded: count_recorded(&file.flow), outcome, changed }
    }
}
