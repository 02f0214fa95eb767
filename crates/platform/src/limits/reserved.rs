//! Tokens taken for an operation whose outcome is pending.
//!
//! A reservation counts until it is returned. A caller that finds all remaining tokens reserved waits for their
//! outcomes. So a returned token causes no rejection, and concurrent attempts never exceed the bucket.

use std::sync::Arc;

use foundation::limits::Bucket;
use foundation::time::Time;
use tokio::sync::watch;

use super::counted::CountedEvent;
use super::counters::{RateLimited, RateLimits, lock, shorten_key};
use super::pending::CountedKey;
use super::shared::SharedReservation;

/// A token taken from a bucket. It counts when this is dropped, unless it is returned.
#[derive(Debug)]
#[must_use = "a reservation counts unless it is given back"]
pub struct Reservation {
    token: ReservedToken,
    is_counted: bool,
}

/// Where a token was taken.
#[derive(Debug)]
enum ReservedToken {
    Local(Arc<RateLimits>, CountedKey),
    Shared(SharedReservation),
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
                ReserveAttempt::Taken => return Ok(Reservation::local(Arc::clone(self), key)),
                ReserveAttempt::Refused(too_many) => return Err(too_many),
                ReserveAttempt::Wait(changed) => changed,
            };
            // An error means that the last reservation is settled, which is a change, too.
            let _ = changed.changed().await;
        }
    }

    fn try_reserve(&self, key: &CountedKey, bucket: Bucket, now: Time) -> ReserveAttempt {
        let mut buckets = lock(&self.buckets);
        let mut open = lock(&self.pending);
        match Self::take_from(&mut buckets, key.clone(), bucket, now) {
            Ok(()) => {
                open.add(key);
                ReserveAttempt::Taken
            }
            Err(too_many) => match open.subscribe(key) {
                Some(changed) => ReserveAttempt::Wait(changed),
                None => ReserveAttempt::Refused(too_many),
            },
        }
    }

    fn settle(&self, key: &CountedKey, counts: bool) {
        let mut buckets = lock(&self.buckets);
        let mut open = lock(&self.pending);
        if let Some(level) = buckets.get_mut(key).filter(|_| !counts) {
            level.put_token();
        }
        open.settle(key, counts);
    }
}

impl Reservation {
    fn local(limits: Arc<RateLimits>, key: CountedKey) -> Self {
        Self { token: ReservedToken::Local(limits, key), is_counted: true }
    }

    /// A token of the store that several processes share.
    pub(super) fn shared(held: SharedReservation) -> Self {
        Self { token: ReservedToken::Shared(held), is_counted: true }
    }

    /// Returns the token: the operation does not count.
    pub fn refund(mut self) {
        self.is_counted = false;
    }
}

impl Drop for Reservation {
    /// Also runs for cancelled requests: an attempt counts.
    fn drop(&mut self) {
        match &self.token {
            ReservedToken::Local(limits, key) => limits.settle(key, self.is_counted),
            ReservedToken::Shared(held) => held.settle(self.is_counted),
        }
    }
}
