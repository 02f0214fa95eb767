//! Operations on the counters of a store.

use foundation::limits::{Bucket, Quota};

/// An operation on one counter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoreOperation {
    pub kind: OperationKind,
    /// The name of the counter, which contains no address.
    pub key: String,
    /// The tokens gained per second.
    pub rate: f64,
    /// The capacity of a bucket, the events of a window, or the attempts of a grant.
    pub size: f64,
    /// Seconds after which a bucket expires (0: never), the length of a window, or the lifetime of a grant.
    pub span: f64,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationKind {
    /// Takes a token of a bucket.
    Take,
    /// Takes a token for an attempt whose outcome is pending.
    Reserve,
    /// Counts an event of a window.
    Window,
    /// Stores a grant, which replaces an earlier one.
    Grant,
    /// Consumes an attempt of a grant.
    Consume,
    /// Ends an attempt whose token counts.
    Settle,
    /// Ends an attempt whose token is returned.
    Refund,
}

impl OperationKind {
    /// The kind that returns what this one has counted, if there is one.
    fn find_return(self) -> Option<Self> {
        match self {
            Self::Take | Self::Reserve => Some(Self::Refund),
            // The events of a window are counted as the attempts of a grant are.
            Self::Window => Some(Self::Consume),
            _ => None,
        }
    }

    /// Whether it returns what another one has counted, if it is not the attempt of a request.
    pub(super) fn is_return(self) -> bool {
        matches!(self, Self::Refund | Self::Consume)
    }

    /// The name, as the script and the SQL function read it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Reserve => "reserve",
            Self::Window => "window",
            Self::Grant => "grant",
            Self::Consume => "consume",
            Self::Settle => "settle",
            Self::Refund => "refund",
        }
    }
}

/// What an operation resulted in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StoreOutcome {
    /// The event is allowed and counted.
    Allowed,
    /// The event is refused; the next is allowed after this many seconds.
    Refused(f64),
    /// No token is left, and attempts that hold tokens are pending.
    Pending,
}

impl StoreOutcome {
    /// Decodes the answer of a store; `None` for an unknown status.
    pub(super) fn decode(status: i64, wait: f64) -> Option<Self> {
        match status {
            0 => Some(Self::Allowed),
            1 => Some(Self::Refused(wait)),
            2 => Some(Self::Pending),
            _ => None,
        }
    }
}

impl StoreOperation {
    /// An operation that reads neither rate nor size nor span.
    pub(super) fn new(kind: OperationKind, key: String) -> Self {
        Self { kind, key, rate: 0.0, size: 0.0, span: 0.0 }
    }

    /// The operation that returns what this one has counted, if there is one.
    pub(super) fn to_return(&self) -> Option<Self> {
        Some(Self { kind: self.kind.find_return()?, ..self.clone() })
    }

    /// An operation on a bucket.
    pub(super) fn of_bucket(kind: OperationKind, key: String, bucket: Bucket) -> Self {
        // A bucket that lives for longer than a year never expires: counters of sending quotas.
        let span = Some(bucket.evicted_after.as_secs_f64()).filter(|span| *span < 31_536_000.0).unwrap_or_default();
        let rate = bucket.events / bucket.per.as_secs_f64().max(1e-9);
        Self { kind, key, rate, size: bucket.burst, span }
    }

    /// An operation on a sending quota.
    pub(super) fn of_quota(key: String, quota: Quota) -> Self {
        match quota {
            Quota::Window { events, per } => {
                Self { size: events, span: per.as_secs_f64().max(1e-3), ..Self::new(OperationKind::Window, key) }
            }
            Quota::Bucket { .. } => Self::of_bucket(OperationKind::Take, key, quota_bucket(quota)),
        }
    }
}

/// The bucket of a quota that is refilled one by one.
fn quota_bucket(quota: Quota) -> Bucket {
    let forever = std::time::Duration::MAX;
    match quota {
        Quota::Bucket { size, every } => Bucket {
            events: 1.0,
            per: every.max(std::time::Duration::from_nanos(1)),
            burst: size,
            evicted_after: forever,
        },
        Quota::Window { events, per } => Bucket { events, per, burst: events, evicted_after: forever },
    }
}
