//! The store of shared limits: its calls, their time limit, and when it is used again after a failure.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use telemetry::catalog::LIMIT_STORE_CALLS;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, oneshot};

use super::error::StoreError;
use super::operation::{OperationKind, StoreOperation, StoreOutcome};
use super::postgres::PostgresStore;
use super::redis::RedisStore;
use super::reply::MalformedReply;
use crate::clock::SharedClock;
use crate::limits::counters::lock;

/// How long the store is not used after a failure. Then one request tries it.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// The largest number of ended attempts that are reported at a time.
const MAX_ENDED_AT_ONCE: usize = 32;
/// The longest time that a call takes in the background.
const LONGEST_CALL: Duration = Duration::from_secs(5);
/// The interval of deletions of expired counters in a database.
const DELETE_EVERY: Duration = Duration::from_mins(1);

/// The store, and whether it can be used.
#[derive(Debug)]
pub(super) struct LimitStore {
    backend: Backend,
    pub clock: SharedClock,
    timeout: Duration,
    /// When the store is tried again; `None` while it answers.
    retry_at: Mutex<Option<Instant>>,
    /// Signals that attempts of this process have ended.
    pub settled: Notify,
    /// The number of returned events that the store does not have yet.
    pub returned: AtomicUsize,
}

/// Where the counters are.
#[derive(Debug)]
pub(super) enum Backend {
    Redis(Box<RedisStore>),
    Postgres(PostgresStore),
}

impl LimitStore {
    /// A store that connects on first use.
    pub(super) fn new(backend: Backend, clock: SharedClock, timeout: Duration) -> Self {
        let (retry_at, settled, returned) = Default::default();
        Self { backend, clock, timeout, retry_at, settled, returned }
    }

    /// Applies the operations; `None` if the store is unreachable.
    ///
    /// A call that is not answered in time goes on in the background, so that later calls can use a connection that
    /// takes longer to open. The events that it counts are returned then.
    pub(super) async fn run(self: &Arc<Self>, operations: &[StoreOperation]) -> Option<Vec<StoreOutcome>> {
        let outcomes = self.run_uncounted(operations).await?;
        record_call("answered");
        Some(outcomes)
    }

    /// Applies the operations as [`Self::run`] does; the metrics count the call if it fails.
    async fn run_uncounted(self: &Arc<Self>, operations: &[StoreOperation]) -> Option<Vec<StoreOutcome>> {
        if !self.can_try() {
            record_call("skipped");
            return None;
        }
        let (store, operations) = (Arc::clone(self), operations.to_vec());
        let (answer, answered) = oneshot::channel();
        http_edge::spawn_task(async move {
            // Outcomes that no request waits for any more are dropped here, and so returned.
            let _ = answer.send(store.call(&operations).await.map(|outcomes| Answer { store, operations, outcomes }));
        });
        let answer = tokio::select! {
            answer = answered => answer.unwrap_or(Err(StoreError::Timeout)),
            () = self.clock.timeout(self.timeout) => Err(StoreError::Timeout),
        };
        let outcomes = answer.map(Answer::into_outcomes);
        match outcomes.and_then(|outcomes| if outcomes.is_empty() { Err(MalformedReply.into()) } else { Ok(outcomes) })
        {
            Ok(outcomes) => {
                if lock(&self.retry_at).take().is_some() {
                    tracing::info!("the store of rate limits is reachable again");
                }
                Some(outcomes)
            }
            Err(error) => {
                if lock(&self.retry_at).replace(Instant::now() + PAUSE_AFTER_FAILURE).is_none() {
                    tracing::warn!(%error, "the store of rate limits is unreachable");
                }
                record_call("failed");
                None
            }
        }
    }

    /// Returns events to the store, also while requests do not use it.
    async fn return_events(&self, operations: &[StoreOperation]) {
        self.returned.fetch_add(operations.len(), Ordering::SeqCst);
        let mut rest = operations;
        while !rest.is_empty() {
            let Ok(outcomes) = self.call(rest).await else { break };
            record_call("reported");
            // A call ends after a refused operation: the return of an event whose window is over.
            rest = rest.get(outcomes.len().max(1)..).unwrap_or_default();
        }
        self.returned.fetch_sub(operations.len(), Ordering::SeqCst);
        self.settled.notify_waiters();
    }

    /// Reports an operation in the background. Beyond the limit of waiting ones an event counts.
    pub(super) fn report(&self, ended: &mpsc::Sender<StoreOperation>, operation: StoreOperation) {
        let returned = usize::from(operation.kind.is_return());
        self.returned.fetch_add(returned, Ordering::SeqCst);
        if ended.try_send(operation).is_err() {
            self.returned.fetch_sub(returned, Ordering::SeqCst);
        }
    }

    async fn call(&self, operations: &[StoreOperation]) -> Result<Vec<StoreOutcome>, StoreError> {
        let called = async {
            match &self.backend {
                Backend::Redis(redis) => redis.run(operations).await,
                Backend::Postgres(postgres) => postgres.run(operations).await,
            }
        };
        tokio::select! {
            outcome = called => outcome,
            () = self.clock.timeout(LONGEST_CALL) => Err(StoreError::Timeout),
        }
    }

    /// Opens a connection before the first request, and reports an unreachable store.
    ///
    /// `key` is that of a counter that does not exist.
    pub(super) async fn connect(&self, key: String) {
        let operation = StoreOperation::new(OperationKind::Consume, key);
        if let Err(error) = self.call(&[operation]).await {
            tracing::warn!(%error, "the store of rate limits is unreachable");
        }
    }

    /// Whether the store may be used. After a failure one caller in a second may.
    fn can_try(&self) -> bool {
        let mut retry_at = lock(&self.retry_at);
        let now = Instant::now();
        match *retry_at {
            None => true,
            Some(at) if now < at => false,
            Some(_) => {
                *retry_at = Some(now + PAUSE_AFTER_FAILURE);
                true
            }
        }
    }
}

/// The outcomes of a call.
///
/// Dropped before they are taken, the events that were counted are returned to the store.
struct Answer {
    store: Arc<LimitStore>,
    operations: Vec<StoreOperation>,
    outcomes: Vec<StoreOutcome>,
}

impl Answer {
    fn into_outcomes(mut self) -> Vec<StoreOutcome> {
        mem::take(&mut self.outcomes)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let allowed =
            self.operations.iter().zip(&self.outcomes).filter(|(_, outcome)| **outcome == StoreOutcome::Allowed);
        let returned: Vec<_> = allowed.filter_map(|(operation, _)| operation.to_return()).collect();
        if let (false, Ok(runtime)) = (returned.is_empty(), Handle::try_current()) {
            let store = Arc::clone(&self.store);
            runtime.spawn(async move { store.return_events(&returned).await });
        }
    }
}

fn record_call(outcome: &'static str) {
    LIMIT_STORE_CALLS.increment(&[outcome]);
}

/// Reports ended attempts to the store, and deletes expired counters of a database.
///
/// Ends when the limits are dropped.
pub(super) async fn report_ended(store: Arc<LimitStore>, mut receiver: mpsc::Receiver<StoreOperation>) {
    let mut batch = Vec::with_capacity(MAX_ENDED_AT_ONCE);
    let mut delete_at = Instant::now() + DELETE_EVERY;
    loop {
        let count = tokio::select! {
            count = receiver.recv_many(&mut batch, MAX_ENDED_AT_ONCE) => count,
            () = store.clock.timeout(DELETE_EVERY) => {
                batch.clear();
                usize::MAX
            }
        };
        if count == 0 {
            return;
        }
        if !batch.is_empty() {
            // A call ends after a refused operation: the return of an event whose window is over.
            let mut rest = &batch[..];
            while !rest.is_empty() {
                // An attempt that cannot be reported counts, and is pending until its time is over.
                let Some(outcomes) = store.run_uncounted(rest).await else { break };
                record_call("reported");
                rest = rest.get(outcomes.len()..).unwrap_or_default();
            }
            let returned = batch.iter().filter(|operation| operation.kind.is_return()).count();
            store.returned.fetch_sub(returned, Ordering::SeqCst);
            batch.clear();
            store.settled.notify_waiters();
        }
        if let Backend::Postgres(postgres) = &store.backend
            && Instant::now() >= delete_at
        {
            postgres.delete_expired().await;
            delete_at = Instant::now() + DELETE_EVERY;
        }
    }
}
