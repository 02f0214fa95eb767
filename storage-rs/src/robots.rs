//! The header `X-Robots-Tag`: what search engines may do with an object.

use crate::error::Error;

const SIMPLE: [&str; 8] =
    ["all", "noindex", "nofollow", "none", "nosnippet", "indexifembedded", "notranslate", "noimageindex"];
const WITH_VALUE: [&str; 4] = ["max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"];

/// The name of a search engine before its rules may be followed by another one that many times.
const MAXIMUM_DEPTH: usize = 8;

/// Checks the value of the header.
///
/// # Errors
/// 400: a rule is unknown, lacks its value, or has one of another form.
pub fn check(value: &str) -> Result<(), Error> {
    check_rules(value, 0)
}

fn check_rules(value: &str, depth: usize) -> Result<(), Error> {
    let value = value.trim();
    if value.is_empty() {
        return Err(Error::robots_tag("X-Robots-Tag header value must be a non-empty string"));
    }
    split(value).into_iter().try_for_each(|rule| check_rule(rule, depth))
}

/// The rules between commas. A date has a comma of its own.
fn split(value: &str) -> Vec<&str> {
    let mut rules = Vec::new();
    let mut rest = value;
    loop {
        rest = rest.trim();
        let end = if rest.starts_with("unavailable_after:") {
            rest.match_indices(',').map(|(index, _)| index).find(|index| begins_rule(&rest[index + 1..]))
        } else {
            rest.find(',')
        };
        let Some(end) = end else {
            rules.push(rest);
            return rules;
        };
        rules.push(rest[..end].trim());
        rest = &rest[end + 1..];
        if rest.trim().is_empty() {
            return rules;
        }
    }
}

/// Whether a text begins with a rule or with the name of a search engine.
fn begins_rule(text: &str) -> bool {
    let text = text.trim_start();
    let length = text.len() - text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-".contains(c)).len();
    let name = &text[..length];
    SIMPLE.contains(&name) || WITH_VALUE.contains(&name) || (length > 0 && text[length..].starts_with(':'))
}

fn check_rule(rule: &str, depth: usize) -> Result<(), Error> {
    if rule.is_empty() {
        return Err(Error::robots_tag("X-Robots-Tag header contains empty rule"));
    }
    if SIMPLE.contains(&rule) {
        return Ok(());
    }
    let Some((name, value)) = rule.split_once(':') else {
        return Err(Error::robots_tag(&format!("Invalid X-Robots-Tag rule: \"{rule}\"")));
    };
    let value = value.trim();
    if WITH_VALUE.contains(&name) {
        return check_value(name, value);
    }
    if value.is_empty() {
        return Err(Error::robots_tag(&format!("X-Robots-Tag user agent \"{}\" has no rules specified", name.trim())));
    }
    if depth == MAXIMUM_DEPTH {
        return Err(Error::robots_tag(&format!("Invalid X-Robots-Tag rule: \"{rule}\"")));
    }
    check_rules(value, depth + 1)
}

fn check_value(name: &str, value: &str) -> Result<(), Error> {
    if value.is_empty() {
        return Err(Error::robots_tag(&format!("X-Robots-Tag rule \"{name}\" requires a value")));
    }
    let (is_valid, expected) = match name {
        "max-image-preview" => (["none", "standard", "large"].contains(&value), "one of: none, standard, large"),
        "unavailable_after" => (is_date(value), "a valid date"),
        _ => (!value.starts_with('+') && value.parse::<i64>().is_ok_and(|number| number >= -1), "an integer >= -1"),
    };
    if is_valid {
        return Ok(());
    }
    Err(Error::robots_tag(&format!("X-Robots-Tag \"{name}\" value must be {expected}, got: \"{value}\"")))
}

/// Whether a text is a date of HTTP (RFC 9110 §5.6.7), RFC 850 or ISO 8601.
fn is_date(text: &str) -> bool {
    use chrono::{DateTime, NaiveDate, NaiveDateTime};
    DateTime::parse_from_rfc2822(text).is_ok()
        || DateTime::parse_from_rfc3339(text).is_ok()
        || NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
        || NaiveDate::parse_from_str(text, "%d %b %Y").is_ok()
        || ["%d %b %Y %H:%M:%S %Z", "%A, %d-%b-%y %H:%M:%S %Z", "%Y-%m-%dT%H:%M:%S", "%d %b %Y %H:%M:%S"]
            .iter()
            .any(|format| NaiveDateTime::parse_from_str(text, format).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_search_engines_are_known() {
        let good = [
            "all",
            "noindex, nofollow",
            "max-snippet: -1, max-image-preview:large",
            "unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT, noindex",
            "unavailable_after: 2025-06-25",
            "googlebot: noindex",
        ];
        for value in good {
            assert!(check(value).is_ok(), "{value}: {:?}", check(value));
        }
        let bad = ["", "nonsense rule", "noindex,,none", "max-snippet:", "max-snippet: -2", "max-image-preview: huge"];
        for value in bad.into_iter().chain(["unavailable_after: soon", "googlebot:"]) {
            assert!(check(value).is_err(), "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_checked(value in "[a-z:, _-]{0,60}") {
            let _ = check(&value);
        }
    }
}
