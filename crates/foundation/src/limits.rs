//! Token buckets and quotas, and the keys that they are counted by.

use std::time::Duration;

use ipnet::IpNet;

/// The key of request limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitKey {
    /// `Sb-Forwarded-For` if enabled and valid, else the first element of the named header.
    ///
    /// Without either (empty name, absent header) no limit applies.
    Header(String),
    /// The peer's address; behind a trusted proxy the forwarded address.
    Peer {
        /// Networks of trusted proxies.
        trusted_proxies: Vec<IpNet>,
    },
}

impl Default for LimitKey {
    fn default() -> Self {
        Self::Header(String::new())
    }
}

/// A token bucket per key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Number of requests per `per`; 0: none after the burst.
    pub events: f64,
    /// The period of `events`.
    pub per: Duration,
    /// Capacity of the bucket.
    pub burst: f64,
    /// Time after the first request when the key is evicted and its bucket is full again.
    pub evicted_after: Duration,
}

impl Bucket {
    /// Creates a bucket with so many events per five minutes, burst 30.
    pub fn per_five_minutes(events: f64) -> Self {
        Self { events, per: Duration::from_mins(5), burst: 30.0, evicted_after: Duration::from_hours(1) }
    }

    /// Creates a bucket with so many events per hour, and the same burst.
    pub fn per_hour(events: f64) -> Self {
        let hour = Duration::from_hours(1);
        Self { events, per: hour, burst: events.trunc(), evicted_after: hour }
    }

    /// Creates a bucket with so many events per hour that is not evicted before it is full again.
    pub fn for_target(events: f64) -> Self {
        Self { evicted_after: Duration::from_hours(24), ..Self::per_hour(events) }
    }

    /// Creates a bucket that no number of requests empties.
    pub fn unlimited() -> Self {
        let minute = Duration::from_mins(1);
        Self { events: UNLIMITED, per: minute, burst: UNLIMITED, evicted_after: minute }
    }

    /// Returns the share of one network: a third of the events, burst at least 1.
    /// Two networks alone cannot exhaust the bucket of a target.
    #[must_use]
    pub fn network_share(self) -> Self {
        Self { events: self.events / 3.0, burst: (self.burst / 3.0).floor().max(1.0), ..self }
    }

    /// Creates a bucket with so many events per minute, burst 30, evicted after a minute.
    pub fn per_minute(events: f64) -> Self {
        let minute = Duration::from_mins(1);
        Self { events, per: minute, burst: 30.0, evicted_after: minute }
    }
}

/// A sending quota of the process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quota {
    /// A fixed number in each window, counted from the start of the process.
    Window {
        /// Messages per window.
        events: f64,
        /// Length of a window.
        per: Duration,
    },
    /// A token bucket that is refilled one by one.
    Bucket {
        /// Capacity, and the initial content.
        size: f64,
        /// Refill interval.
        every: Duration,
    },
}

/// More events than any process counts, and few enough for exact arithmetic.
const UNLIMITED: f64 = 1e12;

impl Quota {
    /// Creates a quota that no number of messages exhausts.
    pub fn unlimited() -> Self {
        Self::Window { events: UNLIMITED, per: Duration::from_hours(1) }
    }
}

impl Default for Quota {
    fn default() -> Self {
        Self::Window { events: 30.0, per: Duration::from_hours(1) }
    }
}
