//! The counters behind all limits: buckets, grants and quotas, with their locks.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use foundation::limits::{Bucket, Quota};
use foundation::limits_policy::LimitsPolicy;
use foundation::time::Time;

use super::counted::CountedEvent;
use super::grants::Grants;
use super::pending::{CountedKey, PendingReservations};

/// A kind of message whose sending quota applies to all callers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaKind {
    /// E-mail messages.
    Email,
    /// Phone messages.
    Sms,
}

/// The rejection by a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimited {
    /// The estimated time until the next request is allowed.
    pub wait: Duration,
}

/// The maximum number of buckets: about 25 MB.
const MAX_BUCKETS: usize = 100_000;
/// Longer keys are stored as a hash.
const MAX_KEY_BYTES: usize = 64;
/// The reported wait if the limit allows no request at all.
const MAX_WAIT: Duration = Duration::from_hours(24);

/// The counters. They persist across reloads of the configuration.
#[derive(Debug)]
pub struct RateLimits {
    started: Time,
    pub(super) buckets: Mutex<HashMap<CountedKey, BucketLevel>>,
    /// Locked after the buckets.
    pub(super) pending: Mutex<PendingReservations>,
    grants: Mutex<Grants>,
    email: Mutex<QuotaUsage>,
    sms: Mutex<QuotaUsage>,
}

/// The fill level of a bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct BucketLevel {
    bucket: Bucket,
    tokens: f64,
    at: Time,
    first: Time,
}

/// The consumption of a quota.
#[derive(Debug, Default)]
struct QuotaUsage {
    /// The number of the window since the start, and the events in it.
    window: (i64, f64),
    /// The bucket, after its first use.
    level: Option<BucketLevel>,
}

impl RateLimits {
    /// Creates empty counters. The windows of quotas begin at `started`.
    pub fn new(started: Time) -> Self {
        let (email, sms) = Default::default();
        let (buckets, open, grants) = Default::default();
        Self { started, buckets, pending: open, grants, email, sms }
    }

    /// Takes one token from the key's bucket.
    ///
    /// # Errors
    /// The bucket is empty.
    pub fn take(&self, what: impl Into<CountedEvent>, key: &str, bucket: Bucket, now: Time) -> Result<(), RateLimited> {
        Self::take_from(&mut lock(&self.buckets), (what.into(), shorten_key(key)), bucket, now)
    }

    pub(super) fn take_from(
        buckets: &mut HashMap<CountedKey, BucketLevel>,
        key: CountedKey,
        bucket: Bucket,
        now: Time,
    ) -> Result<(), RateLimited> {
        if let Some(level) = buckets.get_mut(&key).filter(|level| !level.is_expired(now)) {
            level.bucket = bucket;
            return level.take(now);
        }
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(&key) {
            evict_buckets(buckets, now);
        }
        let mut level = BucketLevel::full(bucket, now);
        let taken = level.take(now);
        buckets.insert(key, level);
        taken
    }

    /// Returns a token to the bucket.
    pub fn refund(&self, what: impl Into<CountedEvent>, key: &str) {
        if let Some(level) = lock(&self.buckets).get_mut(&(what.into(), shorten_key(key))) {
            level.put_token();
        }
    }

    /// Grants a number of attempts until `until`, independent of other callers.
    pub fn grant(&self, to: &str, tries: u8, until: Time, now: Time) {
        lock(&self.grants).insert(shorten_key(to), tries, until, now);
    }

    /// Consumes a granted attempt; false if there is none.
    pub fn consume_grant(&self, of: &str, now: Time) -> bool {
        lock(&self.grants).consume(&shorten_key(of), now)
    }

    /// Takes one message from the quota.
    ///
    /// # Errors
    /// The quota is exhausted.
    pub fn take_quota(&self, sent: QuotaKind, quota: Quota, now: Time) -> Result<(), RateLimited> {
        let mut used = match sent {
            QuotaKind::Email => lock(&self.email),
            QuotaKind::Sms => lock(&self.sms),
        };
        match quota {
            Quota::Window { events, per } => used.take_of_window(events, per, now - self.started),
            Quota::Bucket { size, every } => {
                let every = every.max(Duration::from_nanos(1));
                let bucket = Bucket { events: 1.0, per: every, burst: size, evicted_after: Duration::MAX };
                used.level.get_or_insert_with(|| BucketLevel::full(bucket, now)).take(now)
            }
        }
    }

    /// Resets the counters whose policy differs between `before` and `now`.
    pub fn apply_policy_change(&self, before: &LimitsPolicy, now: &LimitsPolicy) {
        lock(&self.buckets).retain(|(counted, _), _| match counted {
            CountedEvent::Requests(what) => what.bucket(before) == what.bucket(now),
            _ => before.targets == now.targets,
        });
        for (spent, is_changed) in
            [(&self.email, before.email_sent != now.email_sent), (&self.sms, before.sms_sent != now.sms_sent)]
        {
            if is_changed {
                *lock(spent) = QuotaUsage::default();
            }
        }
    }

    /// Returns the number of keys with pending reservations.
    pub fn count_pending_keys(&self) -> usize {
        lock(&self.pending).count_keys()
    }

    /// Returns the number of buckets and grants.
    pub fn count_entries(&self) -> usize {
        lock(&self.buckets).len() + lock(&self.grants).count()
    }
}

impl QuotaUsage {
    /// `age` is that of the process.
    fn take_of_window(&mut self, events: f64, per: Duration, age: chrono::TimeDelta) -> Result<(), RateLimited> {
        let length = i64::try_from(per.as_nanos()).unwrap_or(i64::MAX).max(1);
        let age = age.num_nanoseconds().unwrap_or(i64::MAX);
        let window = age.div_euclid(length);
        if self.window.0 != window {
            self.window = (window, 0.0);
        }
        if self.window.1 + 1.0 <= events {
            self.window.1 += 1.0;
            return Ok(());
        }
        let left = u64::try_from(length - age.rem_euclid(length)).unwrap_or(u64::MAX);
        Err(RateLimited { wait: if events < 1.0 { MAX_WAIT } else { Duration::from_nanos(left) } })
    }
}

impl BucketLevel {
    fn full(bucket: Bucket, now: Time) -> Self {
        Self { bucket, tokens: bucket.burst, at: now, first: now }
    }

    fn per_second(&self) -> f64 {
        self.bucket.events / self.bucket.per.as_secs_f64().max(1e-9)
    }

    /// Returns the tokens at `now`. A clock that goes backwards changes nothing.
    fn tokens_at(&self, now: Time) -> f64 {
        let elapsed = (now - self.at).to_std().unwrap_or_default().as_secs_f64();
        let gained = if elapsed > 0.0 { elapsed * self.per_second() } else { 0.0 };
        (self.tokens + gained).min(self.bucket.burst)
    }

    fn take(&mut self, now: Time) -> Result<(), RateLimited> {
        self.tokens = self.tokens_at(now);
        self.at = self.at.max(now);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(RateLimited { wait: self.time_to_token().min(self.time_to_expiry(now)) })
    }

    pub(super) fn put_token(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.bucket.burst);
    }

    /// Returns the time until one token is available.
    fn time_to_token(&self) -> Duration {
        if self.bucket.burst < 1.0 {
            return MAX_WAIT;
        }
        Duration::try_from_secs_f64((1.0 - self.tokens) / self.per_second()).unwrap_or(MAX_WAIT).min(MAX_WAIT)
    }

    /// Returns the time until the bucket expires, after which its key has a full one.
    fn time_to_expiry(&self, now: Time) -> Duration {
        self.bucket.evicted_after.saturating_sub((now - self.first).to_std().unwrap_or_default())
    }

    fn is_expired(&self, now: Time) -> bool {
        (now - self.first).to_std().is_ok_and(|age| age >= self.bucket.evicted_after)
    }
}

/// Evicts expired buckets, or else the fullest eighth, so that exhausted keys stay limited.
fn evict_buckets(buckets: &mut HashMap<CountedKey, BucketLevel>, now: Time) {
    buckets.retain(|_, level| !level.is_expired(now));
    if buckets.len() < MAX_BUCKETS {
        return;
    }
    let missing = |level: &BucketLevel| level.bucket.burst - level.tokens_at(now);
    let mut all: Vec<f64> = buckets.values().map(missing).collect();
    let eighth = all.len() / 8;
    let (_, most, _) = all.select_nth_unstable_by(eighth, f64::total_cmp);
    let most = *most;
    let mut left = eighth + 1;
    buckets.retain(|_, level| {
        let goes = left > 0 && missing(level) <= most;
        left -= usize::from(goes);
        !goes
    });
}

pub(super) fn shorten_key(key: &str) -> Box<str> {
    if key.len() <= MAX_KEY_BYTES {
        return key.into();
    }
    // A trimmed key contains no space, so a hash cannot collide with a key.
    format!(" {}", STANDARD_NO_PAD.encode(digest(&SHA256, key.as_bytes()))).into()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
