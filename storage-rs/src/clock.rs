//! The time.

use std::sync::Arc;

use chrono::{DateTime, Utc};

/// Tells the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl Clock {
    /// A clock that tells what the function says.
    pub fn new(tell: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The time.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0)()
    }

    /// The clock of the machine.
    pub fn of_machine() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the clock that programs inject")]
        Self::new(Utc::now)
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Clock")
    }
}
