//! An event that a limit counts.

use std::time::Duration;

use foundation::limits::{Bucket, Quota};

use super::counted::CountedEvent;
use super::counters::QuotaKind;

/// An event to count.
#[derive(Debug, Clone, Copy)]
pub enum LimitOperation<'a> {
    /// Takes a token of the key's bucket.
    Take {
        what: CountedEvent,
        /// The caller or target.
        key: &'a str,
        /// The limit.
        bucket: Bucket,
    },
    /// Takes a token for an attempt, and waits while attempts hold all remaining tokens of the bucket.
    Reserve {
        what: CountedEvent,
        /// The target.
        key: &'a str,
        /// The limit.
        bucket: Bucket,
    },
    /// Takes one message of a sending quota.
    Quota(QuotaKind, Quota),
    /// Grants attempts that are independent of other callers.
    Grant {
        /// The key of the grant.
        to: &'a str,
        /// The number of attempts.
        tries: u8,
        /// How long they can be used.
        lifetime: Duration,
    },
    /// Consumes a granted attempt; refused if there is none.
    ConsumeGrant {
        /// The key of the grant.
        of: &'a str,
    },
}
