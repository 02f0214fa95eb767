//! Parses `xs:dateTime`. Without a zone the time is UTC, as SAML requires.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use foundation::time::Time;

use super::error::SamlError;

/// Parses a time; `None` if absent or empty. `name` is the attribute's name in the error.
pub fn parse(text: Option<&str>, name: &'static str) -> Result<Option<Time>, SamlError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let zoned = DateTime::parse_from_rfc3339(text).map(|time| time.with_timezone(&Utc));
    let time =
        zoned.or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").map(|naive| naive.and_utc()));
    let time = time.map_err(|_| SamlError::Instant(name))?;
    // Adding a clock skew to times outside this range could overflow.
    let (first, last) = (DateTime::UNIX_EPOCH, DateTime::UNIX_EPOCH + TimeDelta::days(365 * 8000));
    if time < first || time > last { Err(SamlError::Instant(name)) } else { Ok(Some(time)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_and_without_zone_and_fraction_are_parsed() {
        let noon = DateTime::parse_from_rfc3339("2026-06-01T12:00:00Z").unwrap().with_timezone(&Utc);
        for (text, expected) in [
            ("2026-06-01T12:00:00Z", Some(noon)),
            ("2026-06-01T12:00:00", Some(noon)),
            ("2026-06-01T14:00:00+02:00", Some(noon)),
            ("2026-06-01T12:00:00.5Z", Some(noon + TimeDelta::milliseconds(500))),
            ("2026-06-01T12:00:00.500", Some(noon + TimeDelta::milliseconds(500))),
            ("", None),
        ] {
            assert_eq!(parse(Some(text), "x").unwrap(), expected, "{text}");
        }
        assert_eq!(parse(None, "x").unwrap(), None);
        for text in
            ["soon", "2026-06-01", "12:00:00", "2026-13-01T12:00:00Z", "0001-01-01T00:00:00Z", "+262000-01-01T00:00:00"]
        {
            assert_eq!(parse(Some(text), "x"), Err(SamlError::Instant("x")), "{text}");
        }
    }
}
