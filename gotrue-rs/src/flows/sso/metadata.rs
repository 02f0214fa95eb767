//! `GET /sso/saml/metadata`: who we are, for identity providers. Nothing is read from the database.

use chrono::{Months, TimeDelta};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::saml::Description;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION};

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::saml::ourselves;

/// How long it holds.
const LIFE: TimeDelta = TimeDelta::hours(48);
/// How long a file holds that somebody carries to an identity provider.
const LIFE_OF_A_FILE: Months = Months::new(60);

/// As a page, or as a file to keep (`?download=true`).
pub async fn handle(cx: Cx) -> Result<Reply> {
    let us = ourselves(&cx)?;
    let is_file = cx.request.query("download") == Some("true");
    let keys_valid_until = cx.now + LIFE;
    let description = Description {
        service: &us.service,
        certificate: us.key.certificate(),
        next: us.next_certificate(),
        encryption: cx.app.policy.saml.allow_encrypted_assertions,
        valid_until: if is_file { end_of_a_file(cx.now) } else { keys_valid_until },
        keys_valid_until,
    };
    // While a key will follow, identity providers are to hear of it soon.
    let kept = if us.next.is_some() { "public, max-age=60" } else { "public, max-age=600" };
    let reply = Reply::xml(description.xml()).with_header(CACHE_CONTROL, kept);
    if is_file {
        return Ok(reply.with_header(CONTENT_DISPOSITION, "attachment; filename=\"metadata.xml\""));
    }
    Ok(reply)
}

fn end_of_a_file(now: Time) -> Time {
    now.checked_add_months(LIFE_OF_A_FILE).unwrap_or(Time::MAX_UTC)
}
