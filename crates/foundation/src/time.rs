//! Points in time.

use chrono::{DateTime, Utc};

/// A time in UTC.
pub type Time = DateTime<Utc>;
