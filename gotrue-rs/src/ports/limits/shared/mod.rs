//! Rate limits that several processes share, in Valkey, Redis or PostgreSQL.
//!
//! The store's clock applies, so that all processes agree on the time. The reasons are in
//! `docs/decisions/0097-shared-limits-take-one-round-trip.md`.

mod connection;
mod error;
mod operation;
mod postgres;
mod redirection;
mod redis;
mod reply;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_lc_rs::{digest, hmac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rules::domain::policy::{LimitStoreFailure, LimitStoreSettings, LimitStoreUrl};
use gotrue_rules::domain::secret::Secret;
use telemetry::catalog::LIMIT_STORE_CALLS;
use tokio::sync::{Notify, mpsc};

pub use self::error::StoreError;
use self::operation::{OperationKind, StoreOperation, StoreOutcome};
pub use self::redirection::{Redirection, parse_redirection};
use self::redis::RedisStore;
pub use self::reply::{MalformedReply, RedisReply, parse_reply};
use super::counters::{RateLimited, lock};
use super::limit_operation::LimitOperation;
use crate::ports::clock::SharedClock;
use crate::store::Pool;
use crate::store::limit_counters::CounterTable;

/// How long the store is not used after a failure. Then one request tries it.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// The first and the longest pause before a request that waits for pending attempts asks again.
const PENDING_PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));
/// The largest number of ended attempts that wait to be reported.
const MAX_ENDED: usize = 4096;
/// The largest number of ended attempts that are reported at a time.
const MAX_ENDED_AT_ONCE: usize = 32;
/// The longest time that a call takes in the background.
const LONGEST_CALL: Duration = Duration::from_secs(5);
/// The longest wait for the store when a server starts.
const LONGEST_CHECK: Duration = Duration::from_secs(1);
/// The interval of deletions of expired counters in a database.
const DELETE_EVERY: Duration = Duration::from_mins(1);

/// The counters that several processes share.
#[derive(Debug)]
pub struct SharedLimits {
    store: Arc<LimitStore>,
    /// Attempts that have ended, to be reported to the store.
    ended: mpsc::Sender<StoreOperation>,
    key: hmac::Key,
    prefix: String,
    on_failure: LimitStoreFailure,
}

/// The store, and whether it can be used.
#[derive(Debug)]
struct LimitStore {
    backend: Backend,
    clock: SharedClock,
    timeout: Duration,
    /// When the store is tried again; `None` while it answers.
    retry_at: Mutex<Option<Instant>>,
    /// Signals that attempts of this process have ended.
    settled: Notify,
    /// The number of returned events that the store does not have yet.
    returned: AtomicUsize,
}

#[derive(Debug)]
enum Backend {
    Redis(Box<RedisStore>),
    Postgres(CounterTable),
}

/// The result of counting in the store.
pub(super) enum SharedResult {
    /// Every event is allowed.
    Allowed,
    /// The operation of this index is refused.
    Refused(usize, RateLimited),
    /// The store is unreachable since the operation of this index.
    Unavailable(usize),
}

impl SharedLimits {
    /// Connects to the store on first use; `None` if the settings name none. Must run in a runtime.
    ///
    /// `secret` makes the names of keys unpredictable and must be the same in all processes. The pool is used by the
    /// store `postgres` only.
    ///
    /// # Errors
    ///
    /// The trusted certificates of TLS cannot be read.
    pub fn start(
        settings: &LimitStoreSettings,
        secret: &Secret,
        pool: &Pool,
        clock: &SharedClock,
    ) -> Result<Option<Arc<Self>>, StoreError> {
        let backend = match &settings.url {
            LimitStoreUrl::Memory => return Ok(None),
            LimitStoreUrl::Postgres => Backend::Postgres(CounterTable::new(pool.clone())),
            LimitStoreUrl::Redis(address) => Backend::Redis(Box::new(RedisStore::new(address.clone())?)),
        };
        let store = Arc::new(LimitStore {
            backend,
            clock: Arc::clone(clock),
            timeout: settings.timeout,
            retry_at: Mutex::default(),
            settled: Notify::new(),
            returned: AtomicUsize::new(0),
        });
        let (ended, receiver) = mpsc::channel(MAX_ENDED);
        let (reporting, unused) = (Arc::clone(&store), format!("{{{}}}:none", settings.prefix));
        tokio::spawn(async move {
            reporting.connect(unused).await;
            report_ended(reporting, receiver).await;
        });
        let mut seed = digest::Context::new(&digest::SHA256);
        seed.update(b"basalt rate limits\0");
        seed.update(secret.reveal().as_bytes());
        let key = hmac::Key::new(hmac::HMAC_SHA256, seed.finish().as_ref());
        let (prefix, on_failure) = (settings.prefix.clone(), settings.on_failure);
        Ok(Some(Arc::new(Self { store, ended, key, prefix, on_failure })))
    }

    /// Writes to the store once, at the start of a server.
    ///
    /// # Errors
    ///
    /// The store refuses in a way that does not end by itself ([`StoreError::is_permanent`]). A store that is
    /// unreachable is no error: it is tried again while requests are counted.
    pub async fn check(settings: &LimitStoreSettings, clock: &SharedClock) -> Result<(), StoreError> {
        let LimitStoreUrl::Redis(address) = &settings.url else { return Ok(()) };
        let store = RedisStore::new(address.clone())?;
        let key = format!("{{{}}}:start", settings.prefix);
        let operation = StoreOperation { size: 1.0, span: 1.0, ..StoreOperation::new(OperationKind::Grant, key) };
        let operations = [operation];
        let written = tokio::select! {
            written = store.run(&operations) => written,
            () = store.wait_for_plain_text() => Err(StoreError::PlainText),
            () = clock.timeout(LONGEST_CHECK) => Err(StoreError::Timeout),
        };
        written.map(drop).or_else(|error| if error.is_permanent() { Err(error) } else { Ok(()) })
    }

    /// Whether requests are counted in the memory of the process while the store is unreachable.
    pub fn is_open_on_failure(&self) -> bool {
        self.on_failure == LimitStoreFailure::Open
    }

    /// Counts the events, and waits while all remaining tokens are held by pending attempts.
    ///
    /// Each allowed operation that reserves a token is passed to `reserved`. A refused one is repeated once if this
    /// process has returned events that the store does not have yet.
    pub(super) async fn count(
        &self,
        operations: &[LimitOperation<'_>],
        mut reserved: impl FnMut(SharedReservation),
    ) -> SharedResult {
        let operations: Vec<_> = operations.iter().map(|operation| self.encode(operation)).collect();
        let (mut next, mut pause, mut is_repeated) = (0, PENDING_PAUSES.0, false);
        while next < operations.len() {
            let settled = self.store.settled.notified();
            let Some(outcomes) = self.store.run(&operations[next..]).await else {
                return SharedResult::Unavailable(next);
            };
            for outcome in outcomes {
                let can_repeat = !is_repeated && self.store.returned.load(Ordering::SeqCst) > 0;
                match outcome {
                    StoreOutcome::Allowed => {
                        if operations[next].kind == OperationKind::Reserve {
                            reserved(SharedReservation::new(self, &operations[next]));
                        }
                        next += 1;
                    }
                    StoreOutcome::Refused(seconds) if !can_repeat => {
                        let wait = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                        return SharedResult::Refused(next, RateLimited { wait });
                    }
                    StoreOutcome::Refused(_) | StoreOutcome::Pending => {
                        is_repeated |= outcome != StoreOutcome::Pending;
                        tokio::select! {
                            () = settled => {}
                            () = self.store.clock.timeout(pause) => {}
                        }
                        pause = (pause * 2).min(PENDING_PAUSES.1);
                        break;
                    }
                }
            }
        }
        SharedResult::Allowed
    }

    /// Returns an event that was counted and did not take place, in the background.
    pub(super) fn give_back(&self, operation: &LimitOperation<'_>) {
        let operation = self.encode(operation);
        if let Some(kind) = operation.kind.find_return() {
            self.store.report(&self.ended, StoreOperation { kind, ..operation });
        }
    }

    /// Applies an operation that is never refused, in the background.
    pub(super) fn apply_later(&self, operation: &LimitOperation<'_>) {
        self.store.report(&self.ended, self.encode(operation));
    }

    fn encode(&self, operation: &LimitOperation<'_>) -> StoreOperation {
        match *operation {
            LimitOperation::Take { what, key, bucket } => {
                let key = self.name("bucket", &format!("{what:?} {bucket:?}"), key);
                StoreOperation::of_bucket(OperationKind::Take, key, bucket)
            }
            LimitOperation::Reserve { what, key, bucket } => {
                let key = self.name("bucket", &format!("{what:?} {bucket:?}"), key);
                StoreOperation::of_bucket(OperationKind::Reserve, key, bucket)
            }
            LimitOperation::Quota(kind, quota) => {
                StoreOperation::of_quota(self.name("quota", &format!("{kind:?} {quota:?}"), ""), quota)
            }
            LimitOperation::Grant { to, tries, lifetime } => StoreOperation {
                size: tries.into(),
                span: lifetime.as_secs_f64(),
                ..StoreOperation::new(OperationKind::Grant, self.name("grant", "", to))
            },
            LimitOperation::ConsumeGrant { of } => {
                StoreOperation::new(OperationKind::Consume, self.name("grant", "", of))
            }
        }
    }

    /// Returns the name of a counter. All names have one hash tag, so that a cluster has them on one node.
    ///
    /// A changed limit has other names, so that its counters start anew.
    fn name(&self, kind: &str, what: &str, key: &str) -> String {
        let tag = hmac::sign(&self.key, format!("{kind}\0{what}\0{key}").as_bytes());
        format!("{{{}}}:{kind}:{}", self.prefix, URL_SAFE_NO_PAD.encode(&tag.as_ref()[..18]))
    }
}

impl LimitStore {
    /// Applies the operations; `None` if the store is unreachable.
    ///
    /// A call that is not answered in time goes on in the background, so that later calls can use a connection that
    /// takes longer to open.
    async fn run(self: &Arc<Self>, operations: &[StoreOperation]) -> Option<Vec<StoreOutcome>> {
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
        let called = tokio::spawn(async move { store.call(&operations).await });
        let outcome = tokio::select! {
            outcome = called => outcome.unwrap_or(Err(StoreError::Timeout)),
            () = self.clock.timeout(self.timeout) => Err(StoreError::Timeout),
        };
        match outcome.and_then(|outcomes| if outcomes.is_empty() { Err(MalformedReply.into()) } else { Ok(outcomes) }) {
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

    /// Reports an operation in the background. Beyond the limit of waiting ones an event counts.
    fn report(&self, ended: &mpsc::Sender<StoreOperation>, operation: StoreOperation) {
        let returned = usize::from(operation.kind.is_return());
        self.returned.fetch_add(returned, Ordering::SeqCst);
        if ended.try_send(operation).is_err() {
            self.returned.fetch_sub(returned, Ordering::SeqCst);
        }
    }

    /// Calls the store.
    async fn call(&self, operations: &[StoreOperation]) -> Result<Vec<StoreOutcome>, StoreError> {
        let called = async {
            match &self.backend {
                Backend::Redis(redis) => redis.run(operations).await,
                Backend::Postgres(table) => postgres::run(table, operations).await,
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
    async fn connect(&self, key: String) {
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

fn record_call(outcome: &'static str) {
    LIMIT_STORE_CALLS.increment(&[outcome]);
}

/// Reports ended attempts to the store, and deletes expired counters of a database.
///
/// Ends when the limits are dropped.
async fn report_ended(store: Arc<LimitStore>, mut receiver: mpsc::Receiver<StoreOperation>) {
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
        if let Backend::Postgres(table) = &store.backend
            && Instant::now() >= delete_at
        {
            postgres::delete_expired(table).await;
            delete_at = Instant::now() + DELETE_EVERY;
        }
    }
}

/// A token of the store for an attempt whose outcome is pending.
#[derive(Debug)]
pub(super) struct SharedReservation {
    store: Arc<LimitStore>,
    ended: mpsc::Sender<StoreOperation>,
    operation: StoreOperation,
}

impl SharedReservation {
    fn new(limits: &SharedLimits, operation: &StoreOperation) -> Self {
        Self { store: Arc::clone(&limits.store), ended: limits.ended.clone(), operation: operation.clone() }
    }

    /// Reports the end of the attempt.
    pub(super) fn settle(&self, counts: bool) {
        let kind = if counts { OperationKind::Settle } else { OperationKind::Refund };
        self.store.report(&self.ended, StoreOperation { kind, ..self.operation.clone() });
    }
}
