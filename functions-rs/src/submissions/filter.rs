//! Which submissions are listed: filters, search and position, parsed from the parameters of a query.

use chrono::{DateTime, Days, NaiveDate, NaiveTime};
use foundation::time::Time;
use uuid::Uuid;

use super::error::InvalidInput;
use crate::functions::send_submission::text::MAX_TEMPLATE;

/// The usual number of submissions on a page.
pub const USUAL_LIMIT: u16 = 50;
/// The maximum number of submissions on a page.
pub const MAX_LIMIT: u16 = 200;
/// The maximum number of characters of a search.
const MAX_SEARCH: usize = 200;
/// The maximum number of words of a search; later ones are ignored.
const MAX_WORDS: usize = 8;

/// What the owner has done about a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmissionStatus {
    /// Nothing yet.
    New,
    /// A reply was sent.
    Answered,
    /// Nothing is left to do.
    Closed,
    /// Unwanted; new submissions of this status are not announced.
    Spam,
}

impl SubmissionStatus {
    /// All, in the order in which they are counted.
    pub const ALL: [Self; 4] = [Self::New, Self::Answered, Self::Closed, Self::Spam];

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Answered => "answered",
            Self::Closed => "closed",
            Self::Spam => "spam",
        }
    }

    /// Finds a status by its name.
    ///
    /// # Errors
    /// There is no such status.
    pub fn parse(text: &str) -> Result<Self, InvalidInput> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| InvalidInput::new("status must be new, answered, closed or spam"))
    }
}

/// A selection of submissions; an absent part selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmissionFilter {
    /// Text whose words must all begin a word of the submission.
    pub search: Option<String>,
    pub status: Option<SubmissionStatus>,
    pub template: Option<u16>,
    /// The first time.
    pub from: Option<Time>,
    /// The time before which the submission came.
    pub until: Option<Time>,
}

/// The position in a list: after the submission of this time and id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmissionCursor {
    /// The time of the submission.
    pub created_at: Time,
    pub id: Uuid,
}

impl SubmissionCursor {
    /// Formats the cursor for a client.
    pub fn format(self) -> String {
        format!("{}-{}", self.created_at.timestamp_micros(), self.id.simple())
    }

    /// Parses what [`SubmissionCursor::format`] returned.
    ///
    /// # Errors
    /// The text is no cursor.
    pub fn parse(text: &str) -> Result<Self, InvalidInput> {
        let parsed = text.rsplit_once('-').filter(|_| text.len() <= 64).and_then(|(micros, id)| {
            let created_at = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
            Some(Self { created_at, id: Uuid::try_parse(id).ok()? })
        });
        parsed.ok_or_else(|| InvalidInput::new("before must be the value of next in an earlier answer"))
    }
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionPage {
    /// What is listed.
    pub filter: SubmissionFilter,
    /// Where the page begins; at the newest submission without it.
    pub before: Option<SubmissionCursor>,
    /// The maximum number of submissions.
    pub limit: u16,
}

impl SubmissionPage {
    /// Parses the parameters of a query; empty ones are absent.
    ///
    /// # Errors
    /// A parameter is unknown, occurs twice, or has an invalid value.
    pub fn parse<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, InvalidInput> {
        let mut page = Self { filter: SubmissionFilter::default(), before: None, limit: USUAL_LIMIT };
        let mut seen: Vec<&str> = Vec::new();
        for (name, value) in parameters {
            if seen.contains(&name) {
                return Err(InvalidInput::new(format!("{name} may be given once")));
            }
            page.set(name, value)?;
            seen.push(name);
        }
        Ok(page)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), InvalidInput> {
        let filter = &mut self.filter;
        match name {
            _ if value.is_empty() && PARAMETERS.contains(&name) => {}
            "search" => filter.search = Some(parse_search(value)?),
            "status" => filter.status = Some(SubmissionStatus::parse(value)?),
            "template" => filter.template = Some(parse_template(value)?),
            "from" => filter.from = Some(parse_time("from", value, false)?),
            "to" => filter.until = Some(parse_time("to", value, true)?),
            "before" => self.before = Some(SubmissionCursor::parse(value)?),
            "limit" => self.limit = parse_limit(value)?,
            _ => {
                let known = PARAMETERS.join(", ");
                return Err(
                    InvalidInput::new("a parameter is unknown").with_hint(format!("The parameters are {known}"))
                );
            }
        }
        Ok(())
    }
}

/// The names of the parameters.
const PARAMETERS: [&str; 7] = ["search", "status", "template", "from", "to", "before", "limit"];

/// Checks the length of a search.
///
/// # Errors
/// It is too long.
pub fn parse_search(text: &str) -> Result<String, InvalidInput> {
    if text.chars().take(MAX_SEARCH + 1).count() > MAX_SEARCH {
        return Err(InvalidInput::new(format!("search must have at most {MAX_SEARCH} characters")));
    }
    Ok(text.to_owned())
}

fn parse_template(text: &str) -> Result<u16, InvalidInput> {
    let id = text.parse().ok().filter(|id| (1..=MAX_TEMPLATE).contains(id));
    id.ok_or_else(|| InvalidInput::new("template must be the number of a template, from 1 to 9999"))
}

fn parse_limit(text: &str) -> Result<u16, InvalidInput> {
    let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| InvalidInput::new(format!("limit must be a number from 1 to {MAX_LIMIT}")))
}

/// Parses a day in UTC or a time; the day that ends a period belongs to it.
///
/// # Errors
/// The text is neither.
pub fn parse_time(name: &'static str, text: &str, is_end: bool) -> Result<Time, InvalidInput> {
    let of_day = || {
        let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        let day = if is_end { day.checked_add_days(Days::new(1))? } else { day };
        Some(day.and_time(NaiveTime::MIN).and_utc())
    };
    let time = || DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc());
    let parsed = of_day().or_else(time).filter(|time| FIRST_TIME <= *time && *time <= LAST_TIME);
    parsed
        .ok_or_else(|| InvalidInput::new(format!("{name} must be a day, such as 2026-11-21, or a time with its zone")))
}

/// The earliest time of a filter.
pub(super) const FIRST_TIME: Time = DateTime::UNIX_EPOCH;
/// The latest time of a filter.
pub(super) const LAST_TIME: Time = match DateTime::from_timestamp_secs(253_402_300_799) {
    Some(time) => time,
    None => DateTime::UNIX_EPOCH,
};

/// Returns the full-text search for words that begin as those of a text; `None` without words.
pub(super) fn search_expression(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let prefixes: Vec<String> = words.take(MAX_WORDS).map(|word| format!("'{word}':*")).collect();
    (!prefixes.is_empty()).then(|| prefixes.join(" & "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(parameters: &[(&str, &str)]) -> Result<SubmissionPage, InvalidInput> {
        SubmissionPage::parse(parameters.iter().copied())
    }

    #[test]
    fn parameters_are_parsed() {
        let page = parse(&[("search", "blue"), ("status", "spam"), ("template", "9"), ("limit", "2"), ("before", "")]);
        let page = page.expect("valid parameters");
        assert_eq!(page.filter.search.as_deref(), Some("blue"));
        assert_eq!((page.filter.status, page.filter.template), (Some(SubmissionStatus::Spam), Some(9)));
        assert_eq!((page.limit, page.before), (2, None));
    }

    #[test]
    fn last_day_is_part_of_the_period() {
        let page = parse(&[("from", "2026-11-20"), ("to", "2026-11-21")]).expect("valid parameters");
        assert_eq!(page.filter.from.map(|time| time.to_rfc3339()).as_deref(), Some("2026-11-20T00:00:00+00:00"));
        assert_eq!(page.filter.until.map(|time| time.to_rfc3339()).as_deref(), Some("2026-11-22T00:00:00+00:00"));
        let exact = parse(&[("to", "2026-11-21T12:00:00+01:00")]).expect("a time");
        assert_eq!(exact.filter.until.map(|time| time.to_rfc3339()).as_deref(), Some("2026-11-21T11:00:00+00:00"));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for (name, value) in [
            ("status", "open"),
            ("template", "0"),
            ("template", "10000"),
            ("limit", "0"),
            ("limit", "201"),
            ("from", "yesterday"),
            ("to", "9999-12-31T23:59:60Z"),
            ("to", "+12000-01-01"),
            ("before", "1"),
            ("before", "1-2"),
            ("order", "asc"),
        ] {
            assert!(parse(&[(name, value)]).is_err(), "{name}={value}");
        }
        assert!(parse(&[("limit", "1"), ("limit", "2")]).is_err());
        assert!(parse(&[("search", &"x".repeat(201))]).is_err());
    }

    #[test]
    fn search_has_no_operators() {
        assert_eq!(
            search_expression("Ada@example.com | !x").as_deref(),
            Some("'Ada':* & 'example':* & 'com':* & 'x':*")
        );
        assert_eq!(search_expression("' & ! <->"), None);
    }

    proptest! {
        #[test]
        fn cursor_is_read_back(micros in 0_i64..4_000_000_000_000_000, id: u128) {
            let created_at = DateTime::from_timestamp_micros(micros).expect("a time");
            let cursor = SubmissionCursor { created_at, id: Uuid::from_u128(id) };
            prop_assert_eq!(SubmissionCursor::parse(&cursor.format()), Ok(cursor));
        }

        #[test]
        fn arbitrary_parameters_do_not_panic(name in "search|status|template|from|to|before|limit|x", value in "\\PC{0,40}") {
            let _ = parse(&[(&name, &value)]);
        }

        #[test]
        fn expression_has_words_alone(text in "\\PC{0,60}") {
            let rest: String = search_expression(&text).unwrap_or_default().split(" & ").map(|word| {
                word.trim_start_matches('\'').trim_end_matches("':*").to_owned()
            }).collect();
            prop_assert!(rest.chars().all(char::is_alphanumeric), "{}", rest);
        }
    }
}
