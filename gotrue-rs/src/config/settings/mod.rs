//! The settings table: one row per variable, a file per section.
//!
//! A row stores its own value; `config/check` combines values that depend on each other.

mod api;
mod database;
mod external;
mod factors;
mod federation;
mod hooks;
mod jwt;
mod limits;
mod mail;
mod operation;
mod outbound;
mod password;
mod security;
mod sessions;
mod sign_up;
mod sms;
mod smtp;
mod telemetry;

use std::collections::BTreeMap;
use std::time::Duration;

use super::draft::Texts;
use super::setting::{Setter, Setting, UnusedForm, ValueType};
use foundation::limits::Quota;
use foundation::secret::Secret;
use gotrue_rules::wire::go_duration::GoDuration;

/// Rows about one topic.
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// The text before the rows; may be empty.
    pub intro: &'static str,
    pub rows: &'static [Setting],
}

/// All settings.
pub const SECTIONS: &[Section] = &[
    api::SECTION,
    database::SECTION,
    operation::SECTION,
    telemetry::SECTION,
    jwt::SECTION,
    sign_up::SECTION,
    password::SECTION,
    sessions::SECTION,
    security::SECTION,
    limits::SECTION,
    smtp::SECTION,
    mail::SECTION,
    sms::SECTION,
    hooks::SECTION,
    factors::SECTION,
    external::SECTION,
    federation::SECTION,
    outbound::SECTION,
];

/// Returns the rows of the export of traces and metrics.
pub(super) fn telemetry_rows() -> &'static [Setting] {
    telemetry::SECTION.rows
}

/// Returns every name that is looked up, with its row.
pub fn names() -> BTreeMap<String, &'static Setting> {
    let rows = SECTIONS.iter().flat_map(|section| section.rows);
    rows.flat_map(|row| {
        let members = row.family.members();
        members.into_iter().flat_map(|member| row.names(member)).map(move |name| (name, row)).collect::<Vec<_>>()
    })
    .collect()
}

const fn text(name: &'static str, to: Setter<String>) -> Setting {
    Setting::new(name, ValueType::Text(to))
}

const fn secret(name: &'static str, to: Setter<Secret>) -> Setting {
    Setting::new(name, ValueType::Secret(to))
}

const fn switch(name: &'static str, to: Setter<bool>) -> Setting {
    Setting::new(name, ValueType::Bool(to))
}

const fn whole(name: &'static str, to: Setter<i64>) -> Setting {
    Setting::new(name, ValueType::Int(i64::MIN, i64::MAX, to))
}

const fn between(name: &'static str, least: i64, greatest: i64, to: Setter<i64>) -> Setting {
    Setting::new(name, ValueType::Int(least, greatest, to))
}

const fn natural(name: &'static str, to: Setter<u64>) -> Setting {
    Setting::new(name, ValueType::Natural(to))
}

const fn number(name: &'static str, to: Setter<f64>) -> Setting {
    Setting::new(name, ValueType::Number(to))
}

const fn span(name: &'static str, to: Setter<GoDuration>) -> Setting {
    Setting::new(name, ValueType::Span(to))
}

const fn positive_span(name: &'static str, to: Setter<GoDuration>) -> Setting {
    Setting::new(name, ValueType::PositiveSpan(to))
}

const fn list(name: &'static str, to: Setter<Vec<String>>) -> Setting {
    Setting::new(name, ValueType::List(to))
}

const fn map(name: &'static str, to: Setter<Texts>) -> Setting {
    Setting::new(name, ValueType::Map(to))
}

const fn quota(name: &'static str, to: Setter<Quota>) -> Setting {
    Setting::new(name, ValueType::Quota(to))
}

const fn unused(name: &'static str, form: UnusedForm, why: &'static str) -> Setting {
    Setting::new(name, ValueType::Unused(form, why))
}

/// Converts a duration; zero means `seconds`.
fn or_seconds(span: GoDuration, seconds: u64) -> Duration {
    if span.is_zero() { Duration::from_secs(seconds) } else { span.to_std() }
}

/// Converts a duration with a minimum of `seconds`.
fn at_least_seconds(span: GoDuration, seconds: u64) -> Duration {
    span.to_std().max(Duration::from_secs(seconds))
}

/// Converts a count; a negative one becomes zero.
fn count(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// Converts a number of digits: 6 if it is not between 6 and 10.
fn digits(n: i64) -> usize {
    match n {
        6..=10 => count(n),
        _ => 6,
    }
}
