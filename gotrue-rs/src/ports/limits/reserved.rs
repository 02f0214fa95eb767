//! Tokens taken for an operation whose outcome is pending.
//!
//! A reservation counts until it is returned. A caller that finds all remaining tokens reserved waits for their
//! outcomes. So a returned token causes no rejection, and concurrent attempts never exceed the bucket.

use std::collections::HashMap;
use std::sync::Arc;

use gotrue_rules::domain::policy::Bucket;
use gotrue_rules::domain::user::Time;
use tokio::sync::watch;

use super::{CountedEvent, RateLimited, RateLimits, lock, shorten_key};

/// A counted event and its key.
type Key = (CountedEvent, Box<str>);

/// Keys with pending reservations.
#[derive(Debug, Default)]
pub(super) struct PendingReservations(HashMap<Key, PendingKey>);

/// The pending reservations of a key.
#[derive(Debug)]
struct PendingKey {
    count: usize,
    /// Signals each returned token; closed when the last reservation is settled.
    changed: watch::Sender<()>,
}

impl PendingReservations {
    pub(super) fn count_keys(&self) -> usize {
        self.0.len()
    }
}

/// A token taken from a bucket. It counts when this is dropped, unless it is returned.
#[derive(Debug)]
#[must_use = "a reservation counts unless it is given back"]
pub struct Reservation {
    limits: Arc<RateLimits>,
    key: Key,
    is_counted: bool,
}

/// The outcome of one attempt to reserve.
enum ReserveAttempt {
    Taken,
    Wait(watch::Receiver<()>),
    Refused(RateLimited),
}

impl RateLimits {
    /// Reserves one token of the key's bucket, and waits while all remaining tokens are reserved.
    ///
    /// # Errors
    ///
    /// The bucket is empty and there is no pending reservation.
    pub async fn reserve(
        self: &Arc<Self>,
        what: impl Into<CountedEvent>,
        key: &str,
        bucket: Bucket,
        now: Time,
    ) -> Result<Reservation, RateLimited> {
        let key = (what.into(), shorten_key(key));
        loop {
            let mut changed = match self.try_reserve(&key, bucket, now) {
                ReserveAttempt::Taken => return Ok(Reservation { limits: Arc::clone(self), key, is_counted: true }),
                ReserveAttempt::Refused(too_many) => return Err(too_many),
                ReserveAttempt::Wait(changed) => changed,
            };
            // An error means that the last reservation is settled, which is a change, too.
            let _ = changed.changed().await;
        }
    }

    fn try_reserve(&self, key: &Key, bucket: Bucket, now: Time) -> ReserveAttempt {
        let mut buckets = lock(&self.buckets);
        let mut open = lock(&self.pending);
        match Self::take_from(&mut buckets, key.clone(), bucket, now) {
            Ok(()) => {
                open.0.entry(key.clone()).or_default().count += 1;
                ReserveAttempt::Taken
            }
            Err(too_many) => match open.0.get(key) {
                Some(holders) => ReserveAttempt::Wait(holders.changed.subscribe()),
                None => ReserveAttempt::Refused(too_many),
            },
        }
    }

    fn settle(&self, key: &Key, counts: bool) {
        let mut buckets = lock(&self.buckets);
        let mut open = lock(&self.pending);
        if let Some(level) = buckets.get_mut(key).filter(|_| !counts) {
            level.put_token();
        }
        let Some(holders) = open.0.get_mut(key) else { return };
        holders.count -= 1;
        if holders.count == 0 {
            open.0.remove(key);
        } else if !counts {
            holders.changed.send_replace(());
        }
    }
}

impl Default for PendingKey {
    fn default() -> Self {
        Self { count: 0, changed: watch::channel(()).0 }
    }
}

impl Reservation {
    /// Returns the token: the operation does not count.
    pub fn refund(mut self) {
        self.is_counted = false;
    }
}

impl Drop for Reservation {
    /// Also runs for cancelled requests: an attempt counts.
    fn drop(&mut self) {
        self.limits.settle(&self.key, self.is_counted);
    }
}
