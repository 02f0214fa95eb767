//! Password hashing on a fixed number of dedicated threads with a bounded queue.
//!
//! Hashing never blocks other requests, and a flood of sign-ins is rejected at once. The module knows neither users nor
//! policies.

mod compute;
mod stored;
mod verdict;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gotrue_rules::domain::policy::PasswordHash;
use telemetry::catalog::{HASHING_DURATION, HASHING_QUEUE, HASHING_REJECTED, HASHING_WAIT};
use tokio::sync::oneshot;

use self::compute::HashMemory;
pub use self::stored::{is_current, malformed_reason, unusable_reason};
pub use self::verdict::{HashingError, MAX_PASSWORD_BYTES, PasswordVerdict};
use crate::ports::entropy::Entropy;

/// Returns a hash that no password matches, for a user without a usable password.
///
/// It consists of random bytes, so that it costs no hashing.
pub fn unusable_hash(how: PasswordHash, entropy: &Entropy) -> String {
    compute::unusable_hash(how, entropy.bytes(), entropy.bytes())
}

type Job = Box<dyn FnOnce(&mut HashMemory) + Send>;

/// The hashing threads and their queue. Dropping it stops the threads.
#[derive(Debug)]
pub struct HashingPool {
    jobs: SyncSender<Job>,
    load: Arc<QueueLoad>,
    threads: usize,
}

/// The load of the queue.
#[derive(Debug, Default)]
struct QueueLoad {
    /// The number of jobs sent and not yet finished.
    unfinished: AtomicUsize,
    /// The moving average of the duration of a job, in microseconds.
    mean_job_micros: AtomicU64,
}

impl HashingPool {
    /// Starts `threads` threads with a queue of `queue` jobs (at least one each).
    pub fn start(threads: usize, queue: usize) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let (jobs, waiting) = sync_channel::<Job>(queue.max(1));
        let waiting = Arc::new(Mutex::new(waiting));
        let load = Arc::new(QueueLoad::default());
        for number in 0..threads {
            let (waiting, load) = (Arc::clone(&waiting), Arc::clone(&load));
            std::thread::Builder::new().name(format!("hashing-{number}")).spawn(move || run_jobs(&waiting, &load))?;
        }
        Ok(Self { jobs, load, threads })
    }

    /// Starts one thread per core with a queue of 64 jobs each: about 3.5 s of bcrypt at cost 10.
    pub fn start_default() -> std::io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::start(cores, cores * 64)
    }

    /// Hashes a new password with a salt from `entropy`.
    pub async fn hash(&self, password: &str, how: PasswordHash, entropy: &Entropy) -> Result<String, HashingError> {
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(HashingError::TooLong(password.len()));
        }
        let (password, salt) = (password.to_owned(), entropy.bytes());
        self.run(move |memory| compute::hash(memory, password.as_bytes(), how, salt)).await?
    }

    /// Compares a password with a stored hash of any known format.
    pub async fn verify(&self, password: &str, stored: &str) -> Result<PasswordVerdict, HashingError> {
        let (password, stored) = (password.to_owned(), stored.to_owned());
        self.run(move |memory| compute::verify(memory, password.as_bytes(), &stored)).await
    }

    /// Takes as long as [`Self::verify`] with a hash made by `how`.
    ///
    /// Used for unknown users, so that the response time does not reveal whether a user exists.
    pub async fn dummy_verify(&self, password: &str, how: PasswordHash) -> Result<(), HashingError> {
        let password = password.as_bytes()[..password.len().min(MAX_PASSWORD_BYTES)].to_vec();
        self.run(move |memory| compute::hash(memory, &password, how, [0; 16]).map(drop)).await?
    }

    /// Runs a job and waits for it. The job of a dropped caller (deadline, closed connection) is skipped.
    async fn run<T, F>(&self, task: F) -> Result<T, HashingError>
    where
        T: Send + 'static,
        F: FnOnce(&mut HashMemory) -> T + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let (load, span) = (Arc::clone(&self.load), tracing::info_span!("hashing"));
        let queued = Instant::now();
        let job: Job = Box::new(move |memory| {
            if answer.is_closed() {
                return;
            }
            let started = Instant::now();
            HASHING_WAIT.record(&[], started - queued);
            let outcome = span.in_scope(|| task(memory));
            let duration = started.elapsed();
            load.record(duration);
            HASHING_DURATION.record(&[], duration);
            drop(answer.send(outcome));
        });
        self.load.unfinished.fetch_add(1, Ordering::Relaxed);
        if let Err(refused) = self.jobs.try_send(job) {
            let before = self.load.unfinished.fetch_sub(1, Ordering::Relaxed);
            return Err(match refused {
                TrySendError::Full(_) => {
                    HASHING_REJECTED.increment(&[]);
                    self.busy_error(before.saturating_sub(1))
                }
                TrySendError::Disconnected(_) => HashingError::Failed,
            });
        }
        answered.await.map_err(|_| HashingError::Failed)
    }

    /// Sets the metric of the queue.
    #[expect(clippy::cast_precision_loss, reason = "a number of jobs")]
    pub fn export_metrics(&self) {
        HASHING_QUEUE.set(&[], self.load.unfinished.load(Ordering::Relaxed) as f64);
    }

    fn busy_error(&self, waiting: usize) -> HashingError {
        let micros =
            self.load.mean_job_micros.load(Ordering::Relaxed).saturating_mul(waiting as u64) / self.threads as u64;
        HashingError::Busy { waiting, retry_after: Duration::from_secs(micros.div_ceil(1_000_000).max(1)) }
    }
}

impl QueueLoad {
    fn record(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let before = self.mean_job_micros.load(Ordering::Relaxed);
        let now = if before == 0 { took } else { before - before / 8 + took / 8 };
        self.mean_job_micros.store(now, Ordering::Relaxed);
    }
}

/// Runs jobs until the pool is dropped. A panic fails only its own job, whose request logs the failure.
fn run_jobs(waiting: &Mutex<Receiver<Job>>, load: &QueueLoad) {
    let mut memory = HashMemory::default();
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        if catch_unwind(AssertUnwindSafe(|| job(&mut memory))).is_err() {
            memory = HashMemory::default();
        }
        load.unfinished.fetch_sub(1, Ordering::Relaxed);
    }
}
