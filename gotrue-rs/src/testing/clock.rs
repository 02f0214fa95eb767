//! A clock that stands still until a test moves it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::ports::clock::Clock;

/// A clock in a test's hand.
#[derive(Debug, Clone)]
pub struct FakeClock {
    moment: Arc<Mutex<DateTime<Utc>>>,
    moved: watch::Sender<()>,
}

impl FakeClock {
    /// A clock that shows this moment.
    pub fn at(moment: DateTime<Utc>) -> Self {
        Self { moment: Arc::new(Mutex::new(moment)), moved: watch::Sender::new(()) }
    }

    /// Lets that much time pass at once; who sleeps for less wakes up.
    pub fn advance(&self, by: TimeDelta) {
        *self.moment.lock().unwrap_or_else(PoisonError::into_inner) += by;
        self.moved.send_replace(());
    }
}

impl Clock for FakeClock {
    fn now(&self) -> DateTime<Utc> {
        *self.moment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        let end = self.now() + TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX);
        Box::pin(async move {
            let mut moved = clock.moved.subscribe();
            while clock.now() < end {
                if moved.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        })
    }
}
