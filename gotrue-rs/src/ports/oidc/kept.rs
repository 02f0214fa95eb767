//! Something that is fetched from elsewhere and kept. One request fetches, the others wait for what it brings; whoever
//! waited takes that, also if it is a failure. Fetches that nobody limits otherwise (for keys that do not exist, of an
//! issuer that does not answer) are few: some at once, then one in a while.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::TimeDelta;
use gotrue_rules::domain::user::Time;
use tokio::sync::Mutex as Turn;

use super::OidcError;
use crate::ports::clock::SharedClock;

/// So many fetches at once,
const AT_ONCE: i32 = 5;
/// then one in this time.
const PAUSE: TimeDelta = TimeDelta::seconds(10);
/// What cannot be fetched anew is used for so long.
const LONGEST_LIFE: TimeDelta = TimeDelta::days(1);

/// Something kept.
#[derive(Debug)]
pub(super) struct Kept<T> {
    /// Whose turn it is to fetch.
    turn: Turn<()>,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    held: Option<Held<T>>,
    failure: Option<OidcError>,
    /// How often it was fetched, in vain or not.
    round: u64,
    /// When all fetches at once are allowed again.
    rested_at: Option<Time>,
}

/// What was fetched.
#[derive(Debug)]
pub(super) struct Held<T> {
    pub value: Arc<T>,
    /// In which fetch.
    pub round: u64,
    at: Time,
}

impl<T> Clone for Held<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), ..*self }
    }
}

impl<T> Held<T> {
    /// How long ago it was fetched.
    pub(super) fn age(&self, now: Time) -> std::time::Duration {
        (now - self.at).to_std().unwrap_or_default()
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        let state = State { held: None, failure: None, round: 0, rested_at: None };
        Self { turn: Turn::default(), state: Mutex::new(state) }
    }
}

impl<T> Kept<T> {
    /// What is kept, if it is good enough; else what is fetched now; else, where nothing can be fetched, what is kept
    /// though it is not good enough.
    pub(super) async fn get<F>(
        &self,
        clock: &SharedClock,
        is_good: impl Fn(&Held<T>) -> bool,
        fetch: impl FnOnce() -> F,
    ) -> Result<Held<T>, OidcError>
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
        let _turn = self.turn.lock().await;
        if !self.state().takes_a_fetch(seen, clock.now()) {
            return self.state().latest(clock.now());
        }
        let fetched = fetch().await;
        let mut state = self.state();
        state.note(fetched, clock.now());
        state.latest(clock.now())
    }

    /// Whether anything was ever fetched.
    pub(super) fn is_empty(&self) -> bool {
        self.state().held.is_none()
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    /// Whether to fetch: not if that was done since `seen`, nor too often. It counts before it is done, so that a
    /// request that is given up has counted.
    fn takes_a_fetch(&mut self, seen: u64, now: Time) -> bool {
        let rested_at = self.rested_at.unwrap_or(now).max(now);
        if self.round != seen || rested_at - now > PAUSE * (AT_ONCE - 1) {
            return false;
        }
        self.rested_at = Some(rested_at + PAUSE);
        true
    }

    fn note(&mut self, fetched: Result<T, OidcError>, now: Time) {
        self.round += 1;
        match fetched {
            Ok(value) => {
                self.held = Some(Held { value: Arc::new(value), round: self.round, at: now });
                self.failure = None;
            }
            Err(error) => {
                tracing::warn!(%error, "an issuer cannot be asked");
                self.failure = Some(error);
            }
        }
    }

    fn latest(&self, now: Time) -> Result<Held<T>, OidcError> {
        let usable = self.held.as_ref().filter(|held| now - held.at < LONGEST_LIFE);
        match (usable, &self.failure) {
            (Some(held), _) => Ok(held.clone()),
            (None, Some(error)) => Err(error.clone()),
            (None, None) => Err(OidcError::Tired),
        }
    }
}
