//! Points in time, and their texts (RFC 3339).

use chrono::{DateTime, SecondsFormat, Utc};

/// A time in UTC.
pub type Time = DateTime<Utc>;

/// Formats a time to the second: `2026-11-22T12:00:00Z`.
pub fn format_seconds(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Formats a time to the millisecond, the precision of JavaScript.
pub fn format_milliseconds(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Formats a time to the microsecond, the precision of PostgreSQL.
pub fn format_microseconds(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Formats a time to the minute for people: `2026-11-22 12:00 UTC`.
pub fn format_minutes(time: Time) -> String {
    time.format("%Y-%m-%d %H:%M UTC").to_string()
}
