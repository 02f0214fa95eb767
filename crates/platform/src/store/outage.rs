//! The loss of the database, and for how long requests wait for it or its successor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use telemetry::catalog::DATABASE_UNAVAILABLE;
use tokio::sync::MutexGuard as Turn;
use tokio::time::{Instant, sleep};

use super::error::reason_of;
use super::hosts::is_temporary;

/// The interval between attempts to connect during an outage.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(50);

/// When the database was lost, and whose turn it is to connect again.
#[derive(Debug)]
pub(super) struct Outage {
    longest_wait: Duration,
    is_known: AtomicBool,
    times: Mutex<Times>,
    turn: tokio::sync::Mutex<()>,
}

/// When the current outage began, and when the one before it ended.
#[derive(Debug, Default)]
struct Times {
    began_at: Option<Instant>,
    ended_at: Option<Instant>,
}

impl Outage {
    /// Creates the state of a database that is not lost.
    pub(super) fn new(longest_wait: Duration) -> Self {
        let (is_known, times) = Default::default();
        Self { longest_wait, is_known, times, turn: tokio::sync::Mutex::new(()) }
    }

    fn lock(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.lock().began_at.is_none()
    }

    /// Records that the database can be used.
    pub(super) fn end(&self) {
        if !self.is_known.load(Ordering::Relaxed) {
            return;
        }
        let mut times = self.lock();
        if let Some(began_at) = times.began_at.take() {
            times.ended_at = Some(Instant::now());
            self.is_known.store(false, Ordering::Relaxed);
            let lasted_ms = began_at.elapsed().as_millis();
            tracing::info!(lasted_ms, "the database can be reached again");
        }
    }

    /// Records that an attempt failed; returns until when the request waits, if it does.
    ///
    /// The time is counted from the first attempt that failed, so that requests of a longer outage fail at once.
    pub(super) fn begin(&self, cause: &sqlx::Error, tried_at: Instant) -> Option<Instant> {
        if self.longest_wait.is_zero() || !is_outage(cause) {
            return None;
        }
        let mut times = self.lock();
        if times.began_at.is_none() {
            if times.ended_at.is_some_and(|ended_at| tried_at < ended_at) {
                // The attempt is one of the outage that has ended meanwhile.
                return Some(tried_at + self.longest_wait);
            }
            self.is_known.store(true, Ordering::Relaxed);
            let wait_ms = self.longest_wait.as_millis();
            DATABASE_UNAVAILABLE.increment(&[reason_of(cause, true)]);
            tracing::warn!(error = %cause, wait_ms, "the database cannot be reached, requests wait for it");
        }
        let until = *times.began_at.get_or_insert(tried_at) + self.longest_wait;
        (until > Instant::now()).then_some(until)
    }

    /// Waits until this request may connect: one at a time, until the first succeeds.
    pub(super) async fn wait_for_turn(&self) -> Option<Turn<'_, ()>> {
        let turn = self.turn.lock().await;
        if self.is_over() {
            return None;
        }
        sleep(ATTEMPT_INTERVAL).await;
        Some(turn)
    }
}

/// Whether the server is down, starting, stopping, unreachable or not a primary.
///
/// One that lacks free connections is not lost.
pub(super) fn is_outage(cause: &sqlx::Error) -> bool {
    let code = cause.as_database_error().and_then(sqlx::error::DatabaseError::code);
    is_temporary(cause) && !code.is_some_and(|code| code.starts_with("53"))
}
