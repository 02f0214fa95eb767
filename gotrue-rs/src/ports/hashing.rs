//! Password hashing on a fixed number of dedicated threads with a bounded queue.
//!
//! Hashing never blocks other requests, and a flood of sign-ins is rejected at once. The module knows neither users nor
//! policies.

mod compute;
mod limited;
mod load;
mod queue;
mod stored;
mod verdict;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gotrue_rules::domain::policy::PasswordHash;
use platform::entropy::Entropy;
use telemetry::catalog::HASHING_QUEUE;

use self::compute::HashMemory;
pub use self::limited::{JobLimits, LimitedHashing};
use self::load::PoolLoad;
use self::queue::JobQueue;
pub use self::stored::{is_current, malformed_reason, unusable_reason};
pub use self::verdict::{HashingError, MAX_PASSWORD_BYTES, PasswordVerdict};

/// Returns a hash that no password matches, for a user without a usable password.
///
/// It consists of random bytes, so that it costs no hashing.
pub fn unusable_hash(how: PasswordHash, entropy: &Entropy) -> String {
    compute::unusable_hash(how, entropy.bytes(), entropy.bytes())
}

/// The hashing threads and their queue. Dropping it stops the threads.
#[derive(Debug)]
pub struct HashingPool {
    load: PoolLoad,
}

impl HashingPool {
    /// Starts `threads` threads with a queue of `queue` jobs (at least one each).
    pub fn start(threads: usize, queue: usize) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let pool = Self { load: PoolLoad::new(threads, JobQueue::new(queue.max(1))) };
        for number in 0..threads {
            let queue = Arc::clone(&pool.load.queue);
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
        LimitedHashing { load: &self.load, limits }
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
        HASHING_QUEUE.set(&[], self.load.queue.unfinished() as f64);
    }
}

impl Drop for HashingPool {
    fn drop(&mut self) {
        self.load.queue.close();
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
