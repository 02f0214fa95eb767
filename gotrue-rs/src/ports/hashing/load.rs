//! The load of the hashing threads: their queue, and how long jobs take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::queue::JobQueue;
use super::verdict::HashingError;

/// The queue of some threads, and the duration of their jobs.
#[derive(Debug)]
pub(super) struct PoolLoad {
    pub(super) queue: Arc<JobQueue>,
    pub(super) times: Arc<JobTimes>,
    threads: usize,
}

/// How long jobs take.
#[derive(Debug, Default)]
pub(super) struct JobTimes {
    /// The moving average of the duration of a job, in microseconds.
    mean_micros: AtomicU64,
}

impl PoolLoad {
    /// Creates the load of `threads` threads, at least one, that have done nothing yet.
    pub(super) fn new(threads: usize, queue: JobQueue) -> Self {
        Self { queue: Arc::new(queue), times: Arc::default(), threads }
    }

    /// Returns the estimated time until a job after `unfinished` others is finished.
    pub(super) fn estimate_completion(&self, unfinished: usize) -> Duration {
        let own = Duration::from_micros(self.times.mean_micros.load(Ordering::Relaxed));
        self.estimate_wait(unfinished).saturating_add(own)
    }

    /// Builds the error of a job that is refused while `waiting` others wait.
    pub(super) fn busy_error(&self, waiting: usize) -> HashingError {
        let seconds = self.estimate_wait(waiting).as_micros().div_ceil(1_000_000).max(1);
        let retry_after = Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX));
        HashingError::Busy { waiting, retry_after }
    }

    /// Returns the estimated time until `jobs` jobs are finished.
    fn estimate_wait(&self, jobs: usize) -> Duration {
        let mean = self.times.mean_micros.load(Ordering::Relaxed);
        Duration::from_micros(mean.saturating_mul(jobs as u64) / self.threads as u64)
    }
}

impl JobTimes {
    pub(super) fn record(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let before = self.mean_micros.load(Ordering::Relaxed);
        let now = if before == 0 { took } else { before - before / 8 + took / 8 };
        self.mean_micros.store(now, Ordering::Relaxed);
    }
}
