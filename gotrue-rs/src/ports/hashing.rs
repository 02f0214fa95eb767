//! Password hashing on threads of its own: as many as asked for, with a bounded queue before them, so that hashing
//! never holds up another request and a flood of sign-ins is refused at once. Knows no account and no policy.

mod compute;
mod stored;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gotrue_rules::domain::policy::PasswordHash;
use tokio::sync::oneshot;

use self::compute::Memory;
pub use self::stored::{is_current, malformed, unusable};
use crate::ports::entropy::Entropy;

/// Longest password in bytes, whatever the algorithm: bcrypt reads no more.
pub const MAX_PASSWORD_BYTES: usize = 72;

/// What comparing a password with a stored hash has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the password.
    Match,
    /// It is not.
    NoMatch,
    /// An argon2 or Firebase hash that cannot be checked, and why: answered like a wrong password.
    Unusable(&'static str),
    /// No hash that we know, and why: answered as a failure of the server.
    Unreadable(&'static str),
}

/// Why nothing was hashed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HashingError {
    /// The queue is full; the caller answers 429 or 503 with this `Retry-After`.
    #[error("{waiting} password hashes are waiting already; try again in {} s", retry_after.as_secs())]
    Busy {
        /// Jobs in the queue.
        waiting: usize,
        /// How long the queue takes at today's pace, in whole seconds, at least one.
        retry_after: Duration,
    },
    /// A password that is too long to be hashed; flows refuse it before.
    #[error("the password has {0} bytes; at most {MAX_PASSWORD_BYTES} can be hashed")]
    TooLong(usize),
    /// A setting no algorithm takes.
    #[error("cannot hash with these parameters: {0}")]
    Parameters(String),
    /// The thread failed while it hashed.
    #[error("a hashing thread failed; its log entry says why")]
    Failed,
}

/// What to store of an account whose password nobody knows: of the form of a new password's hash, but of none, and at no
/// cost.
pub fn of_no_password(how: PasswordHash, entropy: &Entropy) -> String {
    compute::of_no_password(how, entropy.bytes(), entropy.bytes())
}

type Job = Box<dyn FnOnce(&mut Memory) + Send>;

/// The hashing threads and their queue. Ends its threads when dropped.
#[derive(Debug)]
pub struct HashingPool {
    jobs: SyncSender<Job>,
    load: Arc<Load>,
    threads: usize,
}

/// What is known of the queue.
#[derive(Debug, Default)]
struct Load {
    /// Jobs sent and not yet finished.
    unfinished: AtomicUsize,
    /// Moving average of what one job takes, in microseconds.
    pace: AtomicU64,
}

impl HashingPool {
    /// Starts `threads` threads (at least one) that `queue` jobs may wait for (at least one).
    pub fn start(threads: usize, queue: usize) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let (jobs, waiting) = sync_channel::<Job>(queue.max(1));
        let waiting = Arc::new(Mutex::new(waiting));
        let load = Arc::new(Load::default());
        for number in 0..threads {
            let (waiting, load) = (Arc::clone(&waiting), Arc::clone(&load));
            std::thread::Builder::new().name(format!("hashing-{number}")).spawn(move || work(&waiting, &load))?;
        }
        Ok(Self { jobs, load, threads })
    }

    /// One thread per core and a queue of 64 jobs for each: about 3.5 s of bcrypt at cost 10.
    pub fn for_this_machine() -> std::io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::start(cores, cores * 64)
    }

    /// Hashes a new password. The salt comes from `entropy`.
    pub async fn hash(&self, password: &str, how: PasswordHash, entropy: &Entropy) -> Result<String, HashingError> {
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(HashingError::TooLong(password.len()));
        }
        let (password, salt) = (password.to_owned(), entropy.bytes());
        self.run(move |memory| compute::hash(memory, password.as_bytes(), how, salt)).await?
    }

    /// Compares a password with a stored hash of any form we know.
    pub async fn verify(&self, password: &str, stored: &str) -> Result<Verdict, HashingError> {
        let (password, stored) = (password.to_owned(), stored.to_owned());
        self.run(move |memory| compute::verify(memory, password.as_bytes(), &stored)).await
    }

    /// Takes as long as [`Self::verify`] on a hash made by `how`: for an account that does not exist, so that the time
    /// of the answer does not tell.
    pub async fn verify_nothing(&self, password: &str, how: PasswordHash) -> Result<(), HashingError> {
        let password = password.as_bytes()[..password.len().min(MAX_PASSWORD_BYTES)].to_vec();
        self.run(move |memory| compute::hash(memory, &password, how, [0; 16]).map(drop)).await?
    }

    /// Jobs that wait or run.
    pub fn unfinished(&self) -> usize {
        self.load.unfinished.load(Ordering::Relaxed)
    }

    /// Waits for one job. A caller that goes away (its deadline, its connection) takes its job with it.
    async fn run<T, F>(&self, task: F) -> Result<T, HashingError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Memory) -> T + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let load = Arc::clone(&self.load);
        let job: Job = Box::new(move |memory| {
            if answer.is_closed() {
                return;
            }
            let started = Instant::now();
            let outcome = task(memory);
            load.note(started.elapsed());
            drop(answer.send(outcome));
        });
        self.load.unfinished.fetch_add(1, Ordering::Relaxed);
        if let Err(refused) = self.jobs.try_send(job) {
            let before = self.load.unfinished.fetch_sub(1, Ordering::Relaxed);
            return Err(match refused {
                TrySendError::Full(_) => self.busy(before.saturating_sub(1)),
                TrySendError::Disconnected(_) => HashingError::Failed,
            });
        }
        answered.await.map_err(|_| HashingError::Failed)
    }

    fn busy(&self, waiting: usize) -> HashingError {
        let micros = self.load.pace.load(Ordering::Relaxed).saturating_mul(waiting as u64) / self.threads as u64;
        HashingError::Busy { waiting, retry_after: Duration::from_secs(micros.div_ceil(1_000_000).max(1)) }
    }
}

impl Load {
    fn note(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let before = self.pace.load(Ordering::Relaxed);
        let now = if before == 0 { took } else { before - before / 8 + took / 8 };
        self.pace.store(now, Ordering::Relaxed);
    }
}

/// What each thread does until the pool is gone. A job that panics fails alone.
fn work(waiting: &Mutex<Receiver<Job>>, load: &Load) {
    let mut memory = Memory::default();
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        if catch_unwind(AssertUnwindSafe(|| job(&mut memory))).is_err() {
            memory = Memory::default();
            tracing::error!("hashing a password panicked; the request was answered as failed");
        }
        load.unfinished.fetch_sub(1, Ordering::Relaxed);
    }
}
