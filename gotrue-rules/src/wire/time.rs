//! Timestamps: RFC 3339 in UTC with `Z`, with as many fraction digits as necessary.

use chrono::{Datelike, SecondsFormat, Timelike};
use serde::Serializer;

use crate::domain::user::Time;

/// Formats a timestamp.
pub fn format_time(time: &Time) -> String {
    let utc = time.naive_utc();
    match u32::try_from(utc.year()) {
        Ok(year) if year <= 9999 && utc.nanosecond() < NANOSECONDS_PER_SECOND => {
            let parts = [(year, 0, 4), (utc.month(), 5, 2), (utc.day(), 8, 2)];
            let clock = [(utc.hour(), 11, 2), (utc.minute(), 14, 2), (utc.second(), 17, 2)];
            let mut text = *b"0000-00-00T00:00:00.000000000";
            for (value, start, length) in parts.into_iter().chain(clock).chain([(utc.nanosecond(), 20, 9)]) {
                write_digits(&mut text[start..start + length], value);
            }
            finish(std::str::from_utf8(&text).unwrap_or_default())
        }
        // A leap second, or a year that is not written with four digits.
        _ => finish(time.to_rfc3339_opts(SecondsFormat::Nanos, true).trim_end_matches('Z')),
    }
}

/// A number of nanoseconds from which on a time is in a leap second.
const NANOSECONDS_PER_SECOND: u32 = 1_000_000_000;

/// Writes a number with leading zeros.
fn write_digits(into: &mut [u8], mut value: u32) {
    for digit in into.iter_mut().rev() {
        *digit = b"0123456789"[(value % 10) as usize];
        value /= 10;
    }
}

/// Removes the zeros at the end of the fraction and adds the time zone.
fn finish(full: &str) -> String {
    let mut text = full.trim_end_matches('0').trim_end_matches('.').to_owned();
    text.push('Z');
    text
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
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn time_is_formatted_as_by_chrono(seconds in -70_000_000_000_i64..300_000_000_000, fraction: u32) {
            for nanoseconds in [0, fraction % 2_000_000_000, fraction % 1000 * 1_000_000] {
                let Some(time) = Time::from_timestamp(seconds, nanoseconds) else { continue };
                let full = time.to_rfc3339_opts(SecondsFormat::Nanos, true);
                let digits = full.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.');
                prop_assert_eq!(format_time(&time), format!("{digits}Z"));
            }
        }
    }
}
