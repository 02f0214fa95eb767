//! A cached remote value. Concurrent requests share one fetch and its result, even if it is a failure.
//!
//! Fetches that callers can trigger at will (unknown keys, an unresponsive issuer) are limited: a burst, then one per
//! interval.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::TimeDelta;
use foundation::error_chain::ErrorChain;
use foundation::time::Time;
use platform::clock::SharedClock;
use tokio::sync::Mutex as Turn;

use super::error::OidcError;

/// The number of fetches in a burst.
const FETCH_BURST: i32 = 5;
/// The interval of further fetches.
const FETCH_INTERVAL: TimeDelta = TimeDelta::seconds(10);
/// The maximum age of a value that cannot be fetched again.
const MAX_STALE_AGE: TimeDelta = TimeDelta::days(1);

/// A cached value.
#[derive(Debug)]
pub(super) struct Cached<T> {
    /// Serializes the fetches.
    fetch_lock: Turn<()>,
    state: Mutex<CacheState<T>>,
}

#[derive(Debug)]
struct CacheState<T> {
    held: Option<CachedValue<T>>,
    failure: Option<OidcError>,
    /// The number of fetches, failed ones included.
    round: u64,
    /// The time at which the burst is fully available again.
    burst_available_at: Option<Time>,
}

/// A fetched value.
#[derive(Debug)]
pub(super) struct CachedValue<T> {
    pub value: Arc<T>,
    /// The fetch that returned it.
    pub round: u64,
    at: Time,
}

impl<T> Clone for CachedValue<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), ..*self }
    }
}

impl<T> CachedValue<T> {
    /// Returns the age of the value.
    pub(super) fn age(&self, now: Time) -> std::time::Duration {
        (now - self.at).to_std().unwrap_or_default()
    }
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        let state = CacheState { held: None, failure: None, round: 0, burst_available_at: None };
        Self { fetch_lock: Turn::default(), state: Mutex::new(state) }
    }
}

impl<T> Cached<T> {
    /// Returns the cached value if `is_good`, else fetches it.
    ///
    /// Falls back to the cached value if no fetch is possible.
    pub(super) async fn get<F>(
        &self,
        clock: &SharedClock,
        is_good: impl Fn(&CachedValue<T>) -> bool,
        fetch: impl FnOnce() -> F,
    ) -> Result<CachedValue<T>, OidcError>
    where
        F: Future<Output = Result<T, OidcError>>,
    {
        let seen = {
            let state = self.state();
            if let Some(held) = state.held.as_ref().filter(|held| is_good(held)) {
                return Ok(held.clone());
            }
            state.round
        };
        let _turn = self.fetch_lock.lock().await;
        if !self.state().try_start_fetch(seen, clock.now()) {
            return self.state().latest(clock.now());
        }
        let fetched = fetch().await;
        let mut state = self.state();
        state.record(fetched, clock.now());
        state.latest(clock.now())
    }

    /// Whether no value was ever fetched.
    pub(super) fn is_empty(&self) -> bool {
        self.state().held.is_none()
    }

    fn state(&self) -> MutexGuard<'_, CacheState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> CacheState<T> {
    /// Whether to fetch: not if that happened since `seen`, nor beyond the rate limit.
    ///
    /// Counts before the fetch, so that a cancelled request counts, too.
    fn try_start_fetch(&mut self, seen: u64, now: Time) -> bool {
        let rested_at = self.burst_available_at.unwrap_or(now).max(now);
        if self.round != seen || rested_at - now > FETCH_INTERVAL * (FETCH_BURST - 1) {
            return false;
        }
        self.burst_available_at = Some(rested_at + FETCH_INTERVAL);
        true
    }

    fn record(&mut self, fetched: Result<T, OidcError>, now: Time) {
        self.round += 1;
        match fetched {
            Ok(value) => {
                self.held = Some(CachedValue { value: Arc::new(value), round: self.round, at: now });
                self.failure = None;
            }
            Err(error) => {
                // A sign-in without a usable value is answered with a status that is not logged as a failure.
                let is_cached_value_used = self.usable(now).is_some();
                tracing::warn!(error = %ErrorChain(&error), is_cached_value_used, "fetch from issuer failed");
                self.failure = Some(error);
            }
        }
    }

    fn latest(&self, now: Time) -> Result<CachedValue<T>, OidcError> {
        match (self.usable(now), &self.failure) {
            (Some(held), _) => Ok(held.clone()),
            (None, Some(error)) => Err(error.clone()),
            (None, None) => Err(OidcError::RateLimited),
        }
    }

    fn usable(&self, now: Time) -> Option<&CachedValue<T>> {
        self.held.as_ref().filter(|held| now - held.at < MAX_STALE_AGE)
    }
}
