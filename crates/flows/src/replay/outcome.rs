//! The outcome of one file.

use std::path::PathBuf;
use std::time::Duration;

use crate::runner::FlowOutcome;

/// The outcome of one file.
#[derive(Debug, Clone)]
pub struct FileOutcome {
    /// The file.
    pub path: PathBuf,
    /// The name of its flow.
    pub name: String,
    /// How it went.
    pub outcome: FlowOutcome,
    /// How long it took.
    pub duration: Duration,
}
