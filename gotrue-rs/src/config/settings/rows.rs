//! Sections, and how their rows are written.

use std::time::Duration;

use foundation::limits::Quota;
use foundation::secret::Secret;
use gotrue_rules::wire::go_duration::GoDuration;

use super::super::draft::Texts;
use super::super::setting::{Setter, Setting, UnusedForm, ValueType};

/// Rows about one topic.
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// The text before the rows; may be empty.
    pub intro: &'static str,
    /// The rows.
    pub rows: &'static [Setting],
}

pub(super) const fn text(name: &'static str, to: Setter<String>) -> Setting {
    Setting::new(name, ValueType::Text(to))
}

pub(super) const fn secret(name: &'static str, to: Setter<Secret>) -> Setting {
    Setting::new(name, ValueType::Secret(to))
}

pub(super) const fn switch(name: &'static str, to: Setter<bool>) -> Setting {
    Setting::new(name, ValueType::Bool(to))
}

pub(super) const fn whole(name: &'static str, to: Setter<i64>) -> Setting {
    Setting::new(name, ValueType::Int(i64::MIN, i64::MAX, to))
}

pub(super) const fn between(name: &'static str, least: i64, greatest: i64, to: Setter<i64>) -> Setting {
    Setting::new(name, ValueType::Int(least, greatest, to))
}

pub(super) const fn natural(name: &'static str, to: Setter<u64>) -> Setting {
    Setting::new(name, ValueType::Natural(to))
}

pub(super) const fn number(name: &'static str, to: Setter<f64>) -> Setting {
    Setting::new(name, ValueType::Number(to))
}

pub(super) const fn span(name: &'static str, to: Setter<GoDuration>) -> Setting {
    Setting::new(name, ValueType::Span(to))
}

pub(super) const fn positive_span(name: &'static str, to: Setter<GoDuration>) -> Setting {
    Setting::new(name, ValueType::PositiveSpan(to))
}

pub(super) const fn list(name: &'static str, to: Setter<Vec<String>>) -> Setting {
    Setting::new(name, ValueType::List(to))
}

pub(super) const fn map(name: &'static str, to: Setter<Texts>) -> Setting {
    Setting::new(name, ValueType::Map(to))
}

pub(super) const fn quota(name: &'static str, to: Setter<Quota>) -> Setting {
    Setting::new(name, ValueType::Quota(to))
}

pub(super) const fn unused(name: &'static str, form: UnusedForm, why: &'static str) -> Setting {
    Setting::new(name, ValueType::Unused(form, why))
}

/// Converts a duration; zero means `seconds`.
pub(super) fn or_seconds(span: GoDuration, seconds: u64) -> Duration {
    if span.is_zero() { Duration::from_secs(seconds) } else { span.to_std() }
}

/// Converts a duration with a minimum of `seconds`.
pub(super) fn at_least_seconds(span: GoDuration, seconds: u64) -> Duration {
    span.to_std().max(Duration::from_secs(seconds))
}

/// Converts a count; a negative one becomes zero.
pub(super) fn count(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// Converts a number of digits: 6 if it is not between 6 and 10.
pub(super) fn digits(n: i64) -> usize {
    match n {
        6..=10 => count(n),
        _ => 6,
    }
}
