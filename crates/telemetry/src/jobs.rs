//! Metrics of background jobs.

use std::time::Duration;

use crate::catalog::{JOB_DURATION, JOB_LAST_RUN, JOB_RUNS};

/// A run of a background job that has ended.
#[derive(Debug, Clone, Copy)]
pub struct JobRun {
    /// The name of the job.
    pub job: &'static str,
    /// Whether it did what was due.
    pub is_successful: bool,
    /// How long it ran.
    pub duration: Duration,
    /// The end, in seconds since 1970.
    pub ended: i64,
}

impl JobRun {
    /// Records the run.
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
    pub fn record(self) {
        JOB_RUNS.increment(&[self.job, if self.is_successful { "ok" } else { "failed" }]);
        JOB_DURATION.record(&[self.job], self.duration);
        JOB_LAST_RUN.set(&[self.job], self.ended as f64);
    }
}
