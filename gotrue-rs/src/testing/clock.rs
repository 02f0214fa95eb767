//! A clock that stands still until a test moves it, or lets it run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::ports::clock::Clock;

/// A clock in a test's hand.
#[derive(Debug, Clone)]
pub struct FakeClock {
    face: Arc<Mutex<Face>>,
    moved: watch::Sender<()>,
    /// How often [`FakeClock::end_sleeps`] was called.
    ended: Arc<AtomicUsize>,
    sleeps: watch::Sender<usize>,
}

#[derive(Debug)]
struct Face {
    moment: DateTime<Utc>,
    /// Since when time passes by itself.
    running: Option<Instant>,
}

impl FakeClock {
    /// A clock that shows this moment.
    pub fn at(moment: DateTime<Utc>) -> Self {
        Self {
            face: Arc::new(Mutex::new(Face { moment, running: None })),
            moved: watch::Sender::new(()),
            ended: Arc::default(),
            sleeps: watch::Sender::new(0),
        }
    }

    /// Lets that much time pass at once; who sleeps for less wakes up.
    pub fn advance(&self, by: TimeDelta) {
        self.face.lock().unwrap_or_else(PoisonError::into_inner).moment += by;
        self.moved.send_replace(());
    }

    /// Wakes everybody who sleeps although it is no later than before: the time limits of what is under way strike.
    pub fn end_sleeps(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.moved.send_replace(());
    }

    /// From now on time passes by itself, as it does outside: for requests that wait for each other.
    pub fn run(&self) {
        self.face.lock().unwrap_or_else(PoisonError::into_inner).running.get_or_insert_with(Instant::now);
    }

    /// How many sleeps were begun since the clock was made.
    pub fn sleeps(&self) -> usize {
        *self.sleeps.borrow()
    }

    /// Completes when so many sleeps were begun since the clock was made.
    pub async fn slept(&self, times: usize) {
        let mut sleeps = self.sleeps.subscribe();
        sleeps.wait_for(|begun| *begun >= times).await.expect("the clock is there");
    }

    fn is_running(&self) -> bool {
        self.face.lock().unwrap_or_else(PoisonError::into_inner).running.is_some()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> DateTime<Utc> {
        let face = self.face.lock().unwrap_or_else(PoisonError::into_inner);
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
