//! Timestamps: RFC 3339, written in UTC with `Z` and as many fraction digits as necessary.

use chrono::{DateTime, Datelike, SecondsFormat, Timelike};
use foundation::time::Time;
use serde::Serializer;

/// Parses a timestamp as Go parses RFC 3339.
///
/// It requires a capital `T` and `Z`, rejects leap seconds, and also accepts an hour of one digit and a comma before
/// the fraction.
pub fn parse_time(text: &str) -> Option<Time> {
    let (date, rest) = text.split_once('T')?;
    let hour = rest.find(':')?;
    if date.len() != 10 || rest.contains(['t', 'z']) || rest.get(hour + 4..hour + 6) == Some("60") {
        return None;
    }
    let padding = if hour == 1 { "0" } else { "" };
    let time = DateTime::parse_from_rfc3339(&format!("{date}T{padding}{}", rest.replacen(',', ".", 1)));
    Some(time.ok()?.to_utc())
}

/// Formats a timestamp.
pub fn format_time(time: &Time) -> String {
    TimeText::new(time).map_or_else(|| format_unusual(time), |text| text.as_str().to_owned())
}

/// Formats a leap second, or a year that is not written with four digits.
fn format_unusual(time: &Time) -> String {
    let full = time.to_rfc3339_opts(SecondsFormat::Nanos, true);
    let digits = full.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.');
    format!("{digits}Z")
}

/// A number of nanoseconds from which on a time is in a leap second.
const NANOSECONDS_PER_SECOND: u32 = 1_000_000_000;

/// The text of a timestamp.
struct TimeText {
    text: [u8; 30],
    length: usize,
}

impl TimeText {
    /// Formats a timestamp; `None` for a leap second or a year that is not written with four digits.
    fn new(time: &Time) -> Option<Self> {
        let utc = time.naive_utc();
        let year = u32::try_from(utc.year()).ok().filter(|year| *year <= 9999)?;
        let nanoseconds = Some(utc.nanosecond()).filter(|nanoseconds| *nanoseconds < NANOSECONDS_PER_SECOND)?;
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        write_pair(&mut text, 0, year / 100);
        write_pair(&mut text, 2, year);
        write_pair(&mut text, 5, utc.month());
        write_pair(&mut text, 8, utc.day());
        write_pair(&mut text, 11, utc.hour());
        write_pair(&mut text, 14, utc.minute());
        write_pair(&mut text, 17, utc.second());
        write_pair(&mut text, 27, nanoseconds);
        write_pair(&mut text, 25, nanoseconds / 100);
        write_pair(&mut text, 23, nanoseconds / 10_000);
        write_pair(&mut text, 21, nanoseconds / 1_000_000);
        text[20] = b"0123456789"[(nanoseconds / 100_000_000) as usize];
        let digits = text[..29].iter().rposition(|byte| *byte != b'0').unwrap_or_default();
        // Without a fraction, the point is dropped, too.
        let end = if digits <= 19 { 19 } else { digits + 1 };
        text[end] = b'Z';
        Some(Self { text, length: end + 1 })
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..self.length]).unwrap_or_default()
    }
}

/// Writes the last two digits of a number.
fn write_pair(text: &mut [u8; 30], start: usize, number: u32) {
    let [tens, ones] = [number / 10 % 10, number % 10];
    text[start] = b"0123456789"[tens as usize];
    text[start + 1] = b"0123456789"[ones as usize];
}

/// Serializes a timestamp; for `#[serde(serialize_with)]`.
pub fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    match TimeText::new(time) {
        Some(text) => serializer.serialize_str(text.as_str()),
        None => serializer.serialize_str(&format_unusual(time)),
    }
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

    #[test]
    fn times_are_parsed_as_by_go() {
        let parsed = |text: &str| parse_time(text).map(|time| format_time(&time));
        for (text, expected) in [
            ("2026-06-01T12:00:00Z", "2026-06-01T12:00:00Z"),
            ("2026-06-01T2:00:00Z", "2026-06-01T02:00:00Z"),
            ("2026-06-01T12:00:00,5+02:00", "2026-06-01T10:00:00.5Z"),
        ] {
            assert_eq!(parsed(text).as_deref(), Some(expected));
        }
        for text in ["", "today", "2026-06-01 12:00:00Z", "2026-06-01T12:00:00z", "2026-06-01T12:00:60Z"] {
            assert_eq!(parsed(text), None, "{text}");
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
