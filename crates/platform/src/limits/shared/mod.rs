//! Rate limits that several processes share, in Valkey, Redis or PostgreSQL.
//!
//! The store's clock applies, so that all processes agree on the time. The reasons are in
//! `docs/decisions/0097-shared-limits-are-counted-by-a-script.md`.

mod connection;
mod error;
mod operation;
mod postgres;
mod redirection;
mod redis;
mod reply;
mod store;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aws_lc_rs::{digest, hmac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use foundation::limit_store::{LimitStoreFailure, LimitStoreSettings, LimitStoreUrl};
use foundation::secret::Secret;
use tokio::sync::mpsc;

pub use self::error::StoreError;
use self::operation::{OperationKind, StoreOperation, StoreOutcome};
use self::postgres::PostgresStore;
pub use self::redirection::{Redirection, parse_redirection};
use self::redis::RedisStore;
pub use self::reply::{MalformedReply, RedisReply, parse_reply};
use self::store::{Backend, LimitStore, report_ended};
use super::counters::RateLimited;
use super::limit_operation::LimitOperation;
use crate::clock::SharedClock;
use crate::store::Pool;

/// The first and the longest pause before a request that waits for pending attempts asks again.
const PENDING_PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));
/// The largest number of ended attempts that wait to be reported.
const MAX_ENDED: usize = 4096;
/// The longest wait for the store when a server starts.
const LONGEST_CHECK: Duration = Duration::from_secs(1);

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
            LimitStoreUrl::Postgres => Backend::Postgres(PostgresStore::new(pool)),
            LimitStoreUrl::Redis(address) => Backend::Redis(Box::new(RedisStore::new(address.clone())?)),
        };
        let store = Arc::new(LimitStore::new(backend, Arc::clone(clock), settings.timeout));
        let (ended, receiver) = mpsc::channel(MAX_ENDED);
        let (reporting, unused) = (Arc::clone(&store), format!("{{{}}}:none", settings.prefix));
        http_edge::spawn_task(async move {
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
