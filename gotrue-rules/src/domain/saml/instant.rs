//! Times as XML Schema writes them (`xs:dateTime`). Without a zone they are in UTC, as SAML wants them anyway.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

use super::Refusal;
use crate::domain::user::Time;

/// A time; an absent or empty attribute is none. `name` is what the attribute is called in a refusal.
pub fn read(text: Option<&str>, name: &'static str) -> Result<Option<Time>, Refusal> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let zoned = DateTime::parse_from_rfc3339(text).map(|time| time.with_timezone(&Utc));
    let time = zoned.or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").map(|it| it.and_utc()));
    let time = time.map_err(|_| Refusal::Instant(name))?;
    // Far away from any time of ours a tolerance could no longer be added.
    let (first, last) = (DateTime::UNIX_EPOCH, DateTime::UNIX_EPOCH + TimeDelta::days(365 * 8000));
    if time < first || time > last { Err(Refusal::Instant(name)) } else { Ok(Some(time)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_zone_and_fraction() {
        let noon = DateTime::parse_from_rfc3339("2026-06-01T12:00:00Z").unwrap().with_timezone(&Utc);
        for (text, expected) in [
            ("2026-06-01T12:00:00Z", Some(noon)),
            ("2026-06-01T12:00:00", Some(noon)),
            ("2026-06-01T14:00:00+02:00", Some(noon)),
            ("2026-06-01T12:00:00.5Z", Some(noon + TimeDelta::milliseconds(500))),
            ("2026-06-01T12:00:00.500", Some(noon + TimeDelta::milliseconds(500))),
            ("", None),
        ] {
            assert_eq!(read(Some(text), "x").unwrap(), expected, "{text}");
        }
        assert_eq!(read(None, "x").unwrap(), None);
        for text in
            ["soon", "2026-06-01", "12:00:00", "2026-13-01T12:00:00Z", "0001-01-01T00:00:00Z", "+262000-01-01T00:00:00"]
        {
            assert_eq!(read(Some(text), "x"), Err(Refusal::Instant("x")), "{text}");
        }
    }
}
