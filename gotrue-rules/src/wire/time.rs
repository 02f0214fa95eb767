//! Timestamps: RFC 3339 in UTC with `Z`, with as many fraction digits as necessary.

use chrono::SecondsFormat;
use serde::Serializer;

use crate::domain::user::Time;

/// Formats a timestamp.
pub fn format_time(time: &Time) -> String {
    let full = time.to_rfc3339_opts(SecondsFormat::Nanos, true);
    let digits = full.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.');
    format!("{digits}Z")
}

/// Serializes a timestamp; for `#[serde(serialize_with)]`.
pub fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_time(time))
}

/// Serializes an optional timestamp; absent is `null`.
pub fn serialize_option<S: Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serialize(time, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_zeros_are_dropped() {
        for (given, expected) in [
            ("2026-06-01T12:00:00Z", "2026-06-01T12:00:00Z"),
            ("2026-06-01T12:00:00.120000Z", "2026-06-01T12:00:00.12Z"),
            ("2026-06-01T14:00:10.000001+02:00", "2026-06-01T12:00:10.000001Z"),
        ] {
            assert_eq!(format_time(&given.parse().unwrap()), expected);
        }
    }
}
