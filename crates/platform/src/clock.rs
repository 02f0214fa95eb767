//! The current time. Only this module reads the system clock; rules take `now` as a value.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;

/// A source of time that a test can replace.
pub trait Clock: std::fmt::Debug + Send + Sync + 'static {
    /// Returns the current time (UTC).
    fn now(&self) -> DateTime<Utc>;

    /// Completes after `duration` of this clock's time: for work that is due later.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Completes after `duration` of real time: for limits on waiting, and for pauses between attempts.
    ///
    /// Advancing a clock must not end a request that is being answered.
    fn timeout(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.sleep(duration)
    }
}

pub type SharedClock = Arc<dyn Clock>;

/// The time of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the only reader of the system clock")]
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
