//! Takes whose outcome is not known yet. A reservation counts until it is given back; who finds everything that is left
//! reserved by others waits for their outcome, so that what is given back in the end refuses nobody, and no more than the
//! bucket holds is ever tried at a time.

use std::collections::HashMap;
use std::sync::Arc;

use gotrue_rules::domain::policy::Bucket;
use gotrue_rules::domain::user::Time;
use tokio::sync::watch;

use super::{Counted, Limits, TooMany, lock, short};

/// A counted thing and its key.
type Key = (Counted, Box<str>);

/// Keys with reservations that are open.
#[derive(Debug, Default)]
pub(super) struct Open(HashMap<Key, Holders>);

/// Who holds reservations of a key.
#[derive(Debug)]
struct Holders {
    count: usize,
    /// Changes when one gives back; closed when the last one is settled.
    changed: watch::Sender<()>,
}

impl Open {
    pub(super) fn keys(&self) -> usize {
        self.0.len()
    }
}

/// One taken out of a bucket. It counts when this is dropped, unless it is given back.
#[derive(Debug)]
#[must_use = "a reservation counts unless it is given back"]
pub struct Reservation {
    limits: Arc<Limits>,
    key: Key,
    counts: bool,
}

/// The outcome of one try.
enum Try {
    Taken,
    Wait(watch::Receiver<()>),
    Refused(TooMany),
}

impl Limits {
    /// Takes one of this key out of its bucket until it is settled. Waits while all that is left is reserved by others.
    ///
    /// # Errors
    ///
    /// Nothing is left, and nobody holds a reservation that could be given back.
    pub async fn reserve(
        self: &Arc<Self>,
        what: impl Into<Counted>,
        key: &str,
        bucket: Bucket,
        now: Time,
    ) -> Result<Reservation, TooMany> {
        let key = (what.into(), short(key));
        loop {
            let mut changed = match self.try_reserve(&key, bucket, now) {
                Try::Taken => return Ok(Reservation { limits: Arc::clone(self), key, counts: true }),
                Try::Refused(too_many) => return Err(too_many),
                Try::Wait(changed) => changed,
            };
            // An error means that the last holder has settled, which is a change too.
            let _ = changed.changed().await;
        }
    }

    fn try_reserve(&self, key: &Key, bucket: Bucket, now: Time) -> Try {
        let mut buckets = lock(&self.buckets);
        let mut open = lock(&self.open);
        match Self::take_from(&mut buckets, key.clone(), bucket, now) {
            Ok(()) => {
                open.0.entry(key.clone()).or_default().count += 1;
                Try::Taken
            }
            Err(too_many) => match open.0.get(key) {
                Some(holders) => Try::Wait(holders.changed.subscribe()),
                None => Try::Refused(too_many),
            },
        }
    }

    fn settle(&self, key: &Key, counts: bool) {
        let mut buckets = lock(&self.buckets);
        let mut open = lock(&self.open);
        if let Some(level) = buckets.get_mut(key).filter(|_| !counts) {
            level.put_back();
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

impl Default for Holders {
    fn default() -> Self {
        Self { count: 0, changed: watch::channel(()).0 }
    }
}

impl Reservation {
    /// Puts back what was taken: it does not count.
    pub fn give_back(mut self) {
        self.counts = false;
    }
}

impl Drop for Reservation {
    /// Also where a request is given up: what was tried counts.
    fn drop(&mut self) {
        self.limits.settle(&self.key, self.counts);
    }
}
