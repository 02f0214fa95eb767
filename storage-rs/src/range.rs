//! Ranges of bytes (RFC 9110 §14): one per request.

use std::ops::Range;

use chrono::{DateTime, Utc};

use crate::error::Error;

/// The bytes that the header `Range` asks for of an object of this size. An end behind the object is its end.
///
/// # Errors
/// 416: several ranges, another unit, no number, or nothing of the object.
pub fn parse(header: &str, size: u64) -> Result<Range<u64>, Error> {
    let (first, last) =
        header.strip_prefix("bytes=").and_then(|ranges| ranges.split_once('-')).ok_or_else(Error::invalid_range)?;
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 18;
        if is_number { text.parse::<u64>().map_err(|_| Error::invalid_range()) } else { Err(Error::invalid_range()) }
    };
    let range = match (first, last) {
        ("", last) => size.saturating_sub(number(last)?)..size,
        (first, "") => number(first)?..size,
        (first, last) => number(first)?..number(last)?.saturating_add(1),
    };
    let range = range.start..range.end.min(size);
    if range.is_empty() { Err(Error::invalid_range()) } else { Ok(range) }
}

/// Whether a range counts although the request has the header `If-Range` (RFC 9110 §13.1.5): a client continues with the content
/// that it has the beginning of, or it gets all of the present content.
pub fn is_current(if_range: Option<&str>, etag: Option<&str>, last_modified: Option<DateTime<Utc>>) -> bool {
    match if_range {
        None => true,
        Some(tag) if tag.starts_with('"') => etag == Some(tag),
        // A weak entity tag is no time.
        Some(time) => match (DateTime::parse_from_rfc2822(time), last_modified) {
            (Ok(time), Some(modified)) => time.timestamp() == modified.timestamp(),
            _ => false,
        },
    }
}

/// The header `Content-Range` of a range.
pub fn content_range(range: &Range<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start, range.end.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_that_of_the_content_before() {
        let modified = DateTime::from_timestamp(1_700_000_000, 123_000_000);
        let cases = [
            (None, true),
            (Some("\"a\""), true),
            (Some("\"b\""), false),
            (Some("W/\"a\""), false),
            (Some("Tue, 14 Nov 2023 22:13:20 GMT"), true),
            (Some("Tue, 14 Nov 2023 22:13:21 GMT"), false),
            (Some("yesterday"), false),
            (Some(""), false),
        ];
        for (header, expected) in cases {
            assert_eq!(is_current(header, Some("\"a\""), modified), expected, "{header:?}");
        }
        assert!(!is_current(Some("\"a\""), None, None));
    }

    #[test]
    fn one_range_is_read() {
        let cases = [
            ("bytes=0-4", Some(0..5)),
            ("bytes=6-", Some(6..12)),
            ("bytes=-6", Some(6..12)),
            ("bytes=-600", Some(0..12)),
            ("bytes=3-900", Some(3..12)),
            ("bytes=11-11", Some(11..12)),
            ("bytes=12-", None),
            ("bytes=500-600", None),
            ("bytes=5-4", None),
            ("bytes=-0", None),
            ("bytes=-", None),
            ("bytes=0-1,3-4", None),
            ("bytes=+1-2", None),
            ("bytes= 1-2", None),
            ("lines=1-2", None),
            ("bytes=99999999999999999999-", None),
            ("", None),
        ];
        for (header, expected) in cases {
            assert_eq!(parse(header, 12).ok(), expected, "{header}");
        }
        assert!(parse("bytes=0-", 0).is_err());
        assert_eq!(content_range(&(3..12), 12), "bytes 3-11/12");
    }

    proptest::proptest! {
        #[test]
        fn range_lies_within_the_object(header in "bytes=[0-9]{0,20}-[0-9]{0,20}", size in 0_u64..1000) {
            if let Ok(range) = parse(&header, size) {
                proptest::prop_assert!(range.start < range.end && range.end <= size);
            }
        }
    }
}
