//! Timestamps as PostgreSQL stores them: from 4714 BC to the year 294276, and `infinity`.
//!
//! RFC 3339 has years from 0 to 9999, and so have JSON clients. What lies outside becomes the nearest time that has a text:
//! an infinite ban is one until the end of 9999. The reference cannot read such rows at all.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgRow, PgTypeInfo, PgValueFormat, PgValueRef};
use sqlx::{Decode, Postgres, Row, Type};

/// A timestamp, with or without time zone, within the years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredTime(pub NaiveDateTime);

impl StoredTime {
    /// The first microsecond of the year 1.
    const FIRST: NaiveDateTime = start_of_year(1);
    /// The start of the year 2000, from which PostgreSQL counts.
    const EPOCH: NaiveDateTime = start_of_year(2000);

    /// The last microsecond of the year 9999.
    fn last() -> NaiveDateTime {
        start_of_year(10_000) - TimeDelta::microseconds(1)
    }

    /// Converts microseconds since 2000, the extremes of which stand for infinity.
    fn from_microseconds(microseconds: i64) -> Self {
        let exact = Self::EPOCH.checked_add_signed(TimeDelta::microseconds(microseconds));
        let bound = if microseconds < 0 { Self::FIRST } else { Self::last() };
        Self(exact.map_or(bound, |time| time.clamp(Self::FIRST, Self::last())))
    }

    /// Parses the text of a time in UTC, as PostgreSQL and `to_json` write it.
    ///
    /// # Errors
    /// The text is no time.
    pub fn parse(text: &str) -> Result<Self, chrono::ParseError> {
        match text {
            "infinity" => return Ok(Self(Self::last())),
            "-infinity" => return Ok(Self(Self::FIRST)),
            _ if text.ends_with(" BC") => return Ok(Self(Self::FIRST)),
            _ => {}
        }
        let year =
            text.find('-').filter(|digits| *digits > 4 && text[..*digits].bytes().all(|byte| byte.is_ascii_digit()));
        if year.is_some() {
            return Ok(Self(Self::last()));
        }
        let with_zone = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_str(text, "%F %T%.f%#z"));
        let time = match with_zone {
            Ok(time) => time.naive_utc(),
            Err(_) => NaiveDateTime::parse_from_str(text, "%F %T%.f")
                .or_else(|_| NaiveDateTime::parse_from_str(text, "%FT%T%.f"))?,
        };
        Ok(Self(time.clamp(Self::FIRST, Self::last())))
    }
}

const fn start_of_year(year: i32) -> NaiveDateTime {
    match NaiveDate::from_ymd_opt(year, 1, 1) {
        Some(day) => day.and_time(chrono::NaiveTime::MIN),
        None => NaiveDateTime::MIN,
    }
}

impl Type<Postgres> for StoredTime {
    fn type_info() -> PgTypeInfo {
        <DateTime<Utc> as Type<Postgres>>::type_info()
    }

    fn compatible(ty: &PgTypeInfo) -> bool {
        <DateTime<Utc> as Type<Postgres>>::compatible(ty) || <NaiveDateTime as Type<Postgres>>::compatible(ty)
    }
}

impl<'r> Decode<'r, Postgres> for StoredTime {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => Ok(Self::from_microseconds(<i64 as Decode<Postgres>>::decode(value)?)),
            PgValueFormat::Text => Ok(Self::parse(value.as_str()?)?),
        }
    }
}

/// A time that a column holds, which may be NULL for an option.
pub trait TimeColumn: Sized {
    /// Reads the column of that name.
    fn read(row: &PgRow, name: &str) -> sqlx::Result<Self>;
}

impl TimeColumn for Option<DateTime<Utc>> {
    fn read(row: &PgRow, name: &str) -> sqlx::Result<Self> {
        Ok(row.try_get::<Option<StoredTime>, _>(name)?.map(|time| time.0.and_utc()))
    }
}

impl TimeColumn for DateTime<Utc> {
    fn read(row: &PgRow, name: &str) -> sqlx::Result<Self> {
        Ok(row.try_get::<StoredTime, _>(name)?.0.and_utc())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        StoredTime::parse(text).expect(text).0.and_utc().to_rfc3339()
    }

    #[test]
    fn texts_of_the_database_are_read() {
        for (text, expected) in [
            ("2026-01-02 03:04:05.678901+00", "2026-01-02T03:04:05.678901+00:00"),
            ("2026-01-02 03:04:05", "2026-01-02T03:04:05+00:00"),
            ("2026-01-02T03:04:05.6+00:00", "2026-01-02T03:04:05.600+00:00"),
            ("infinity", "9999-12-31T23:59:59.999999+00:00"),
            ("-infinity", "0001-01-01T00:00:00+00:00"),
            ("10001-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"),
            ("0044-03-15 12:00:00+00 BC", "0001-01-01T00:00:00+00:00"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        assert!(StoredTime::parse("soon").is_err());
    }

    proptest! {
        #[test]
        fn any_stored_time_has_a_text_of_four_digit_years(microseconds in any::<i64>()) {
            let text = StoredTime::from_microseconds(microseconds).0.and_utc().to_rfc3339();
            prop_assert!(DateTime::parse_from_rfc3339(&text).is_ok(), "{}", text);
            prop_assert_eq!(text.find('-'), Some(4));
        }

        #[test]
        fn arbitrary_texts_do_not_panic(text in "\\PC{0,30}") {
            let _ = StoredTime::parse(&text);
        }
    }
}
