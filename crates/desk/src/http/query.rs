//! Query parameters.

use chrono::{Datelike, NaiveDate};

use super::error::DeskError;

/// The longest value of a parameter, in characters.
const MAX_LENGTH: usize = 500;

/// The parameters of a request.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the query of a request.
    ///
    /// # Errors
    /// 400 for a value that is too long or contains U+0000.
    pub fn parse(query: Option<&str>) -> Result<Self, DeskError> {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
        let pairs: Vec<(String, String)> = pairs.filter(|(_, value)| !value.is_empty()).collect();
        let is_invalid = |value: &str| value.contains('\0') || value.chars().count() > MAX_LENGTH;
        match pairs.iter().find(|(_, value)| is_invalid(value)) {
            None => Ok(Self(pairs)),
            Some((name, _)) => {
                let text = format!("{name} must have at most {MAX_LENGTH} characters, none of them U+0000.");
                Err(DeskError::invalid(text))
            }
        }
    }

    /// Returns the first value of a name; an empty one counts as absent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns names and values that are not empty, in the order of the request.
    pub fn list(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns a day of the form `2026-01-31`; `None` if it is absent.
    ///
    /// # Errors
    /// 400 if it is no such day.
    pub fn day(&self, name: &str) -> Result<Option<NaiveDate>, DeskError> {
        let parse = |text: &str| {
            let day = text.parse::<NaiveDate>().ok().filter(|day| has_plain_year(*day) && day.to_string() == text);
            day.ok_or_else(|| DeskError::invalid(format!("{name} must be a day, such as 2026-01-31.")))
        };
        self.get(name).map(parse).transpose()
    }

    /// Returns a number within a range, or the default if it is absent.
    ///
    /// # Errors
    /// 400 if it is no such number.
    pub fn number(&self, name: &str, default: i64, range: std::ops::RangeInclusive<i64>) -> Result<i64, DeskError> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            DeskError::invalid(format!("{name} must be a number from {} to {}.", range.start(), range.end()))
        })
    }
}

/// Whether a day has the same text in the database: no sign, and no year zero.
pub(crate) fn has_plain_year(day: NaiveDate) -> bool {
    (1..=9999).contains(&day.year())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits_are_checked() {
        let query = Query::parse(Some("limit=20&search=a+b&none=")).expect("a query");
        assert_eq!((query.get("search"), query.get("none")), (Some("a b"), None));
        assert_eq!(query.number("limit", 50, 1..=200).expect("a number"), 20);
        assert_eq!(query.number("other", 50, 1..=200).expect("a number"), 50);
        assert!(query.number("limit", 50, 1..=19).is_err());
        assert!(Query::parse(Some("search=%00")).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_queries_do_not_panic(text in "\\PC{0,600}") {
            let _ = Query::parse(Some(&text));
        }
    }
}
