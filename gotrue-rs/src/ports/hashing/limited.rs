//! Hashing on behalf of a request, which has a deadline and a client that may disconnect.

use std::sync::Arc;
use std::time::Instant;

use gotrue_rules::domain::policy::PasswordHash;
use http_edge::ClientPresence;
use platform::entropy::Entropy;
use telemetry::catalog::{HASHING_DURATION, HASHING_REJECTED, HASHING_WAIT};
use tokio::sync::oneshot;

use super::compute::{self, HashMemory};
use super::load::{JobTimes, PoolLoad};
use super::queue::QueuedJob;
use super::verdict::{HashingError, MAX_PASSWORD_BYTES, PasswordVerdict};

/// When a job is refused or skipped; by default it is neither.
#[derive(Debug, Clone, Default)]
pub struct JobLimits {
    /// The end of the request: a job that is estimated to finish later is refused.
    pub deadline: Option<Instant>,
    /// The client of the request: a job that has not started when the client disconnects is skipped.
    pub client: Option<ClientPresence>,
}

/// A pool for jobs with limits.
#[derive(Debug)]
pub struct LimitedHashing<'a> {
    pub(super) load: &'a PoolLoad,
    pub(super) limits: JobLimits,
}

impl LimitedHashing<'_> {
    /// Hashes a new password with a salt from `entropy`.
    pub async fn hash(self, password: &str, how: PasswordHash, entropy: &Entropy) -> Result<String, HashingError> {
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(HashingError::TooLong(password.len()));
        }
        let (password, salt) = (password.to_owned(), entropy.bytes());
        self.run(move |memory| compute::hash(memory, password.as_bytes(), how, salt)).await?
    }

    /// Compares a password with a stored hash of any known format.
    pub async fn verify(self, password: &str, stored: &str) -> Result<PasswordVerdict, HashingError> {
        let (password, stored) = (password.to_owned(), stored.to_owned());
        self.run(move |memory| compute::verify(memory, password.as_bytes(), &stored)).await
    }

    /// Takes as long as [`Self::verify`] with a hash made by `how`.
    pub async fn dummy_verify(self, password: &str, how: PasswordHash) -> Result<(), HashingError> {
        let password = password.as_bytes()[..password.len().min(MAX_PASSWORD_BYTES)].to_vec();
        self.run(move |memory| compute::hash(memory, &password, how, [0; 16]).map(drop)).await?
    }

    /// Runs a job and waits for it.
    ///
    /// It is skipped if the caller is dropped or the client disconnects before its start.
    async fn run<T, F>(self, task: F) -> Result<T, HashingError>
    where
        T: Send + 'static,
        F: FnOnce(&mut HashMemory) -> T + Send + 'static,
    {
        let Self { load, limits } = self;
        let (answer, answered) = oneshot::channel();
        let job = Job {
            task,
            answer,
            client: limits.client.clone(),
            queued: Instant::now(),
            span: tracing::info_span!("hashing"),
            times: Arc::clone(&load.times),
        };
        let left = limits.deadline.map(|deadline| deadline.saturating_duration_since(job.queued));
        let is_in_time = |unfinished| left.is_none_or(|left| load.estimate_completion(unfinished) <= left);
        if let Err(waiting) = load.queue.push(Box::new(job), is_in_time) {
            HASHING_REJECTED.increment(&[]);
            return Err(load.busy_error(waiting));
        }
        answered.await.map_err(|_| match &limits.client {
            Some(client) if client.is_gone() => HashingError::ClientGone,
            _ => HashingError::Failed,
        })
    }
}

/// A job with the receiver of its result.
struct Job<T, F> {
    task: F,
    answer: oneshot::Sender<T>,
    client: Option<ClientPresence>,
    queued: Instant,
    span: tracing::Span,
    times: Arc<JobTimes>,
}

impl<T, F> QueuedJob for Job<T, F>
where
    T: Send,
    F: FnOnce(&mut HashMemory) -> T + Send,
{
    fn is_abandoned(&self) -> bool {
        self.answer.is_closed() || self.client.as_ref().is_some_and(ClientPresence::is_gone)
    }

    fn run(self: Box<Self>, memory: &mut HashMemory) {
        let Self { task, answer, queued, span, times, .. } = *self;
        let started = Instant::now();
        HASHING_WAIT.record(&[], started - queued);
        let outcome = span.in_scope(|| task(memory));
        let duration = started.elapsed();
        times.record(duration);
        HASHING_DURATION.record(&[], duration);
        drop(answer.send(outcome));
    }
}
