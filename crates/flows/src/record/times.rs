//! Replaces days and times of users by others of the same form.

use chrono::{Days, NaiveDate};
use serde_json::json;

use super::session::FlowSession;

/// The years of generated days before and after the recording, as a policy can depend on the side.
const PAST: i32 = 2001;
const FUTURE: i32 = 2101;

/// Returns the placeholder of a generated day or time if the text is one (ISO 8601).
///
/// Responses show a day by its name. A time can come back in another form than it was sent in.
pub(super) fn replace(session: &mut FlowSession, recorded: &str) -> Option<String> {
    let day = NaiveDate::parse_from_str(recorded.get(..10)?, "%Y-%m-%d").ok()?;
    let time = generated_time(&recorded[10..])?;
    #[expect(clippy::cast_precision_loss, reason = "seconds are below 2^52")]
    let is_past = day.and_hms_opt(0, 0, 0)?.and_utc().timestamp() as f64 <= session.at;
    let start = if time.is_empty() { "date" } else { "time" };
    let first = NaiveDate::from_ymd_opt(if is_past { PAST } else { FUTURE }, 1, 1)?;
    let generated = first.checked_add_days(Days::new(session.count(start)))?;
    let name = session.generate(recorded, start, json!({ "concat": [format!("{generated}{time}")] }));
    Some(format!("{{{{{name}}}}}"))
}

/// Returns noon in the form of what follows a day: separator, time and zone.
fn generated_time(rest: &str) -> Option<String> {
    let Some(separator) = rest.chars().next() else { return Some(String::new()) };
    if !matches!(separator, 'T' | ' ') {
        return None;
    }
    let time = &rest[1..];
    let (time, zone) = time.split_at(time.find(['Z', '+', '-']).unwrap_or(time.len()));
    let is_time = time.len() >= 5 && time.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    let is_zone = zone.len() <= 6 && zone.bytes().skip(1).all(|byte| byte.is_ascii_digit() || byte == b':');
    let zone = if matches!(zone, "" | "Z") { zone } else { "+00:00" };
    (is_time && is_zone).then(|| format!("{separator}12:00:00{zone}"))
}
