//! The settings table: every variable there is, one row each, a file per section. A row says where its value goes;
//! what only makes sense together is put together in `check.rs`.

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

use std::collections::BTreeMap;
use std::time::Duration;

use super::Texts;
use super::setting::{Form, Put, Setting, To};
use gotrue_rules::domain::policy::Quota;
use gotrue_rules::domain::secret::Secret;
use gotrue_rules::wire::go_duration::GoDuration;

/// Rows about one concern.
pub struct Section {
    /// Its heading.
    pub title: &'static str,
    /// What is said before the rows; may be empty.
    pub intro: &'static str,
    /// Its rows.
    pub rows: &'static [Setting],
}

/// All settings.
pub const SECTIONS: &[Section] = &[
    api::SECTION,
    database::SECTION,
    operation::SECTION,
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

/// Every name that is looked up, with its row.
pub fn names() -> BTreeMap<String, &'static Setting> {
    let rows = SECTIONS.iter().flat_map(|section| section.rows);
    rows.flat_map(|row| {
        let members = row.family.members();
        members.into_iter().flat_map(|member| row.names(member)).map(move |name| (name, row)).collect::<Vec<_>>()
    })
    .collect()
}

const fn text(name: &'static str, to: To<String>) -> Setting {
    Setting::new(name, Put::Text(to))
}

const fn secret(name: &'static str, to: To<Secret>) -> Setting {
    Setting::new(name, Put::Secret(to))
}

const fn switch(name: &'static str, to: To<bool>) -> Setting {
    Setting::new(name, Put::Bool(to))
}

const fn whole(name: &'static str, to: To<i64>) -> Setting {
    Setting::new(name, Put::Int(i64::MIN, i64::MAX, to))
}

const fn between(name: &'static str, least: i64, greatest: i64, to: To<i64>) -> Setting {
    Setting::new(name, Put::Int(least, greatest, to))
}

const fn natural(name: &'static str, to: To<u64>) -> Setting {
    Setting::new(name, Put::Natural(to))
}

const fn number(name: &'static str, to: To<f64>) -> Setting {
    Setting::new(name, Put::Number(to))
}

const fn span(name: &'static str, to: To<GoDuration>) -> Setting {
    Setting::new(name, Put::Span(to))
}

const fn positive_span(name: &'static str, to: To<GoDuration>) -> Setting {
    Setting::new(name, Put::PositiveSpan(to))
}

const fn list(name: &'static str, to: To<Vec<String>>) -> Setting {
    Setting::new(name, Put::List(to))
}

const fn map(name: &'static str, to: To<Texts>) -> Setting {
    Setting::new(name, Put::Map(to))
}

const fn quota(name: &'static str, to: To<Quota>) -> Setting {
    Setting::new(name, Put::Quota(to))
}

const fn unused(name: &'static str, form: Form, why: &'static str) -> Setting {
    Setting::new(name, Put::Unused(form, why))
}

/// A span, where zero means this many seconds.
fn or_seconds(span: GoDuration, seconds: u64) -> Duration {
    if span.is_zero() { Duration::from_secs(seconds) } else { span.as_std() }
}

/// A span that is never below this many seconds.
fn at_least_seconds(span: GoDuration, seconds: u64) -> Duration {
    span.as_std().max(Duration::from_secs(seconds))
}

/// A count; a negative one is none.
fn count(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// The digits of a code: 6 where fewer than 6 or more than 10 are asked for.
fn digits(n: i64) -> usize {
    match n {
        6..=10 => count(n),
        _ => 6,
    }
}
