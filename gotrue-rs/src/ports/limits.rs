//! Limits: a token bucket for each counted thing and key, grants, and quotas of what is sent. Counts in memory, for this
//! process; arithmetic over the moment given. Which route takes which limit stands in the route table, and what is
//! answered to who asks too often in `services/limits`.

mod counted;
mod grants;
mod keys;
mod reserved;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use gotrue_rules::domain::policy::{Bucket, LimitsPolicy, Quota};
use gotrue_rules::domain::user::Time;

pub use self::counted::{Counted, Limited};
use self::grants::Grants;
pub use self::keys::{Request, key_of, peer_address};
use self::reserved::Open;
pub use self::reserved::Reservation;
pub use http_edge::network_of;

/// What is sent, and limited for all callers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Mails.
    Email,
    /// Phone messages.
    Sms,
}

/// Too many; how long until one more is allowed, as far as can be told now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// How long.
    pub wait: Duration,
}

/// Most buckets kept at a time: about 25 MB.
const MOST_BUCKETS: usize = 100_000;
/// Keys longer than this are kept as a hash.
const LONGEST_KEY: usize = 64;
/// What is told where nothing will ever be allowed again.
const NEVER: Duration = Duration::from_hours(24);

/// The counters. Kept when the configuration is read again.
#[derive(Debug)]
pub struct Limits {
    started: Time,
    buckets: Mutex<HashMap<(Counted, Box<str>), Level>>,
    /// Locked after the buckets.
    open: Mutex<Open>,
    grants: Mutex<Grants>,
    email: Mutex<Spent>,
    sms: Mutex<Spent>,
}

/// How full a bucket is.
#[derive(Debug, Clone, Copy)]
struct Level {
    bucket: Bucket,
    tokens: f64,
    at: Time,
    first: Time,
}

/// What a quota has given out.
#[derive(Debug, Default)]
struct Spent {
    /// The window, by number since the start, and what was taken in it.
    window: (i64, f64),
    /// The bucket, once it is used.
    level: Option<Level>,
}

impl Limits {
    /// No request has come yet. The windows of quotas begin at `started`.
    pub fn new(started: Time) -> Self {
        let (email, sms) = Default::default();
        let (buckets, open, grants) = Default::default();
        Self { started, buckets, open, grants, email, sms }
    }

    /// Takes one of this key out of its bucket, if one is left.
    pub fn take(&self, what: impl Into<Counted>, key: &str, bucket: Bucket, now: Time) -> Result<(), TooMany> {
        Self::take_from(&mut lock(&self.buckets), (what.into(), short(key)), bucket, now)
    }

    fn take_from(
        buckets: &mut HashMap<(Counted, Box<str>), Level>,
        key: (Counted, Box<str>),
        bucket: Bucket,
        now: Time,
    ) -> Result<(), TooMany> {
        if let Some(level) = buckets.get_mut(&key).filter(|level| !level.is_forgotten(now)) {
            level.bucket = bucket;
            return level.take(now);
        }
        if buckets.len() >= MOST_BUCKETS && !buckets.contains_key(&key) {
            make_room(buckets, now);
        }
        let mut level = Level::full(bucket, now);
        let taken = level.take(now);
        buckets.insert(key, level);
        taken
    }

    /// Puts one back that should not have been counted.
    pub fn give_back(&self, what: impl Into<Counted>, key: &str) {
        if let Some(level) = lock(&self.buckets).get_mut(&(what.into(), short(key))) {
            level.put_back();
        }
    }

    /// Gives somebody so many tries until then, whatever others do.
    pub fn grant(&self, to: &str, tries: u8, until: Time, now: Time) {
        lock(&self.grants).give(short(to), tries, until, now);
    }

    /// Uses up a try that was granted; false if there is none.
    pub fn use_grant(&self, of: &str, now: Time) -> bool {
        lock(&self.grants).take(&short(of), now)
    }

    /// Takes one message out of the quota, if one is left.
    pub fn take_quota(&self, sent: Sent, quota: Quota, now: Time) -> Result<(), TooMany> {
        let mut used = match sent {
            Sent::Email => lock(&self.email),
            Sent::Sms => lock(&self.sms),
        };
        match quota {
            Quota::Window { events, per } => used.take_of_window(events, per, now - self.started),
            Quota::Bucket { size, every } => {
                let every = every.max(Duration::from_nanos(1));
                let bucket = Bucket { events: 1.0, per: every, burst: size, forgotten_after: Duration::MAX };
                used.level.get_or_insert_with(|| Level::full(bucket, now)).take(now)
            }
        }
    }

    /// Starts the count of those anew for which the operator has decided otherwise; all others go on.
    pub fn follow(&self, before: &LimitsPolicy, now: &LimitsPolicy) {
        lock(&self.buckets).retain(|(counted, _), _| match counted {
            Counted::Requests(what) => what.bucket(before) == what.bucket(now),
            _ => before.targets == now.targets,
        });
        for (spent, is_changed) in
            [(&self.email, before.email_sent != now.email_sent), (&self.sms, before.sms_sent != now.sms_sent)]
        {
            if is_changed {
                *lock(spent) = Spent::default();
            }
        }
    }

    /// How many keys have reservations that are open.
    pub fn kept_open(&self) -> usize {
        lock(&self.open).keys()
    }

    /// How many buckets and grants are kept.
    pub fn kept(&self) -> usize {
        lock(&self.buckets).len() + lock(&self.grants).kept()
    }
}

impl Spent {
    /// `age` is that of the process.
    fn take_of_window(&mut self, events: f64, per: Duration, age: chrono::TimeDelta) -> Result<(), TooMany> {
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
        Err(TooMany { wait: if events < 1.0 { NEVER } else { Duration::from_nanos(left) } })
    }
}

impl Level {
    fn full(bucket: Bucket, now: Time) -> Self {
        Self { bucket, tokens: bucket.burst, at: now, first: now }
    }

    fn per_second(&self) -> f64 {
        self.bucket.events / self.bucket.per.as_secs_f64().max(1e-9)
    }

    /// What is there at `now`. A clock that goes back fills nothing and takes nothing away.
    fn tokens_at(&self, now: Time) -> f64 {
        let elapsed = (now - self.at).to_std().unwrap_or_default().as_secs_f64();
        let gained = if elapsed > 0.0 { elapsed * self.per_second() } else { 0.0 };
        (self.tokens + gained).min(self.bucket.burst)
    }

    fn take(&mut self, now: Time) -> Result<(), TooMany> {
        self.tokens = self.tokens_at(now);
        self.at = self.at.max(now);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(TooMany { wait: self.refilled_in().min(self.forgotten_in(now)) })
    }

    fn put_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.bucket.burst);
    }

    /// Until one is there again.
    fn refilled_in(&self) -> Duration {
        if self.bucket.burst < 1.0 {
            return NEVER;
        }
        Duration::try_from_secs_f64((1.0 - self.tokens) / self.per_second()).unwrap_or(NEVER).min(NEVER)
    }

    /// Until it is full again, because its key is forgotten.
    fn forgotten_in(&self, now: Time) -> Duration {
        self.bucket.forgotten_after.saturating_sub((now - self.first).to_std().unwrap_or_default())
    }

    fn is_forgotten(&self, now: Time) -> bool {
        (now - self.first).to_std().is_ok_and(|age| age >= self.bucket.forgotten_after)
    }
}

/// Drops what is forgotten; else the eighth of the buckets that are fullest, so that who is refused stays refused
/// however many other keys turn up.
fn make_room(buckets: &mut HashMap<(Counted, Box<str>), Level>, now: Time) {
    buckets.retain(|_, level| !level.is_forgotten(now));
    if buckets.len() < MOST_BUCKETS {
        return;
    }
    let missing = |level: &Level| level.bucket.burst - level.tokens_at(now);
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

fn short(key: &str) -> Box<str> {
    if key.len() <= LONGEST_KEY {
        return key.into();
    }
    // A blank cannot be in a trimmed key, so a hash is nobody's key.
    format!(" {}", STANDARD_NO_PAD.encode(digest(&SHA256, key.as_bytes()))).into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
