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
mod rows;
mod security;
mod sessions;
mod sign_up;
mod sms;
mod smtp;
mod telemetry;

use std::collections::BTreeMap;

use super::setting::Setting;
pub use rows::Section;

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
