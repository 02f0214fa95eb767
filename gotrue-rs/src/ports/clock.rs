//! What time it is. The only place that asks the system; rules get `now` as a value.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;

/// A source of time that a test can hold in its hand.
pub trait Clock: std::fmt::Debug + Send + Sync + 'static {
    /// The present moment, UTC.
    fn now(&self) -> DateTime<Utc>;

    /// Completes after `duration` of this clock's time.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// A clock that can be shared.
pub type SharedClock = Arc<dyn Clock>;

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the system for the time")]
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
