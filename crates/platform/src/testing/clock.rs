//! A clock that a test advances or starts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::clock::Clock;

/// A clock that a test controls.
#[derive(Debug, Clone)]
pub struct FakeClock {
    state: Arc<Mutex<ClockState>>,
    moved: watch::Sender<()>,
    /// The number of calls of [`FakeClock::end_sleeps`].
    ended: Arc<AtomicUsize>,
    sleeps: watch::Sender<usize>,
}

#[derive(Debug)]
struct ClockState {
    moment: DateTime<Utc>,
    /// When the clock was started by [`FakeClock::run`].
    running: Option<Instant>,
}

impl FakeClock {
    /// A stopped clock with this time.
    pub fn at(moment: DateTime<Utc>) -> Self {
        Self {
            state: Arc::new(Mutex::new(ClockState { moment, running: None })),
            moved: watch::Sender::new(()),
            ended: Arc::default(),
            sleeps: watch::Sender::new(0),
        }
    }

    /// Advances the time at once; sleeps that are due complete.
    pub fn advance(&self, by: TimeDelta) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).moment += by;
        self.moved.send_replace(());
    }

    /// Completes all sleeps without advancing the time, so that pending timeouts expire.
    pub fn end_sleeps(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.moved.send_replace(());
    }

    /// Lets the time run in real time, for requests that wait for each other.
    pub fn run(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).running.get_or_insert_with(Instant::now);
    }

    /// The number of sleeps started since the clock was created.
    pub fn sleeps(&self) -> usize {
        *self.sleeps.borrow()
    }

    /// Completes once the given number of sleeps was started.
    pub async fn wait_for_sleeps(&self, times: usize) {
        let mut sleeps = self.sleeps.subscribe();
        sleeps.wait_for(|begun| *begun >= times).await.expect("the clock is there");
    }

    fn is_running(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).running.is_some()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> DateTime<Utc> {
        let face = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = face.running.map(|since| since.elapsed()).unwrap_or_default();
        face.moment + TimeDelta::from_std(passed).unwrap_or_default()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if self.is_running() {
            return Box::pin(tokio::time::sleep(duration));
        }
        let clock = self.clone();
        let end = self.now() + TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX);
        let ended = self.ended.load(Ordering::Relaxed);
        self.sleeps.send_modify(|begun| *begun += 1);
        Box::pin(async move {
            let mut moved = clock.moved.subscribe();
            while clock.now() < end && clock.ended.load(Ordering::Relaxed) == ended {
                if moved.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        })
    }
}
