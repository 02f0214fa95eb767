//! Password hashing on a fixed number of dedicated threads with a bounded queue.
//!
//! Hashing never blocks other requests, and a flood of sign-ins is rejected at once. The module knows neither users nor
//! policies.

mod compute;
mod limited;
mod queue;
mod stored;
mod verdict;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gotrue_rules::domain::policy::PasswordHash;
use telemetry::catalog::HASHING_QUEUE;

use self::compute::HashMemory;
pub use self::limited::{JobLimits, LimitedHashing};
use self::queue::JobQueue;
pub use self::stored::{is_current, malformed_reason, unusable_reason};
pub use self::verdict::{HashingError, MAX_PASSWORD_BYTES, PasswordVerdict};
use crate::ports::entropy::Entropy;

/// Returns a hash that no password matches, for a user without a usable password.
///
/// It consists of random bytes, so that it costs no hashing.
pub fn unusable_hash(how: PasswordHash, entropy: &Entropy) -> String {
    compute::unusable_hash(how, entropy.bytes(), entropy.bytes())
}

/// The hashing threads and their queue. Dropping it stops the threads.
#[derive(Debug)]
pub struct HashingPool {
    queue: Arc<JobQueue>,
    times: Arc<JobTimes>,
    threads: usize,
}

/// How long jobs take.
#[derive(Debug, Default)]
struct JobTimes {
    /// The moving average of the duration of a job, in microseconds.
    mean_micros: AtomicU64,
}

impl HashingPool {
    /// Starts `threads` threads with a queue of `queue` jobs (at least one each).
    pub fn start(threads: usize, queue: usize) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let pool = Self { queue: Arc::new(JobQueue::new(queue.max(1))), times: Arc::default(), threads };
        for number in 0..threads {
            let queue = Arc::clone(&pool.queue);
            std::thread::Builder::new().name(format!("hashing-{number}")).spawn(move || run_jobs(&queue))?;
        }
        Ok(pool)
    }

    /// Starts one thread per core with a queue of 64 jobs each: about 3.5 s of bcrypt at cost 10.
    pub fn start_default() -> std::io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::start(cores, cores * 64)
    }

    /// Returns the pool for jobs with these limits.
    pub fn limited(&self, limits: JobLimits) -> LimitedHashing<'_> {
        LimitedHashing { pool: self, limits }
    }

    /// Hashes a new password with a salt from `entropy`.
    pub async fn hash(&self, password: &str, how: PasswordHash, entropy: &Entropy) -> Result<String, HashingError> {
        self.limited(JobLimits::default()).hash(password, how, entropy).await
    }

    /// Compares a password with a stored hash of any known format.
    pub async fn verify(&self, password: &str, stored: &str) -> Result<PasswordVerdict, HashingError> {
        self.limited(JobLimits::default()).verify(password, stored).await
    }

    /// Takes as long as [`Self::verify`] with a hash made by `how`.
    ///
    /// Used for unknown users, so that the response time does not reveal whether a user exists.
    pub async fn dummy_verify(&self, password: &str, how: PasswordHash) -> Result<(), HashingError> {
        self.limited(JobLimits::default()).dummy_verify(password, how).await
    }

    /// Sets the metric of the queue.
    #[expect(clippy::cast_precision_loss, reason = "a number of jobs")]
    pub fn export_metrics(&self) {
        HASHING_QUEUE.set(&[], self.queue.unfinished() as f64);
    }

    /// Returns the estimated time until `jobs` jobs are finished.
    fn estimate_wait(&self, jobs: usize) -> Duration {
        let mean = self.times.mean_micros.load(Ordering::Relaxed);
        Duration::from_micros(mean.saturating_mul(jobs as u64) / self.threads as u64)
    }

    /// Returns the estimated time until a job after `unfinished` others is finished.
    fn estimate_completion(&self, unfinished: usize) -> Duration {
        let own = Duration::from_micros(self.times.mean_micros.load(Ordering::Relaxed));
        self.estimate_wait(unfinished).saturating_add(own)
    }

    fn busy_error(&self, waiting: usize) -> HashingError {
        let seconds = self.estimate_wait(waiting).as_micros().div_ceil(1_000_000).max(1);
        let retry_after = Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX));
        HashingError::Busy { waiting, retry_after }
    }
}

impl Drop for HashingPool {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl JobTimes {
    fn record(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let before = self.mean_micros.load(Ordering::Relaxed);
        let now = if before == 0 { took } else { before - before / 8 + took / 8 };
        self.mean_micros.store(now, Ordering::Relaxed);
    }
}

/// Runs jobs until the pool is dropped. A panic fails only its own job, whose request logs the failure.
fn run_jobs(queue: &JobQueue) {
    let mut memory = HashMemory::default();
    while let Some(job) = queue.next() {
        if catch_unwind(AssertUnwindSafe(|| job.run(&mut memory))).is_err() {
            memory = HashMemory::default();
        }
        queue.finish_job();
    }
}
