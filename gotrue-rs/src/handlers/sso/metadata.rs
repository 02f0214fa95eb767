//! `GET /sso/saml/metadata`: the metadata of the service provider. The database is not queried.

use chrono::{Months, TimeDelta};
use foundation::error::Result;
use foundation::time::Time;
use gotrue_rules::wire::saml::ServiceProviderMetadata;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION};

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::saml::service_provider;

/// The validity of the metadata.
const VALIDITY: TimeDelta = TimeDelta::hours(48);
/// The validity of a downloaded file, in months.
const FILE_VALIDITY: Months = Months::new(60);

/// Returns the metadata, as a file with `?download=true`.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let saml = service_provider(&cx)?;
    let is_file = cx.request.query("download") == Some("true");
    let keys_valid_until = cx.now + VALIDITY;
    let description = ServiceProviderMetadata {
        service_provider: &saml.service,
        certificate: saml.key.certificate(),
        next_certificate: saml.next_certificate(),
        accepts_encryption: cx.app.policy.saml.allow_encrypted_assertions,
        valid_until: if is_file { file_valid_until(cx.now) } else { keys_valid_until },
        keys_valid_until,
    };
    // While a next key is configured, identity providers must see it soon.
    let cache_control = if saml.next_key.is_some() { "public, max-age=60" } else { "public, max-age=600" };
    let reply = Reply::xml(description.to_xml()).with_header(CACHE_CONTROL, cache_control);
    if is_file {
        return Ok(reply.with_header(CONTENT_DISPOSITION, "attachment; filename=\"metadata.xml\""));
    }
    Ok(reply)
}

fn file_valid_until(now: Time) -> Time {
    now.checked_add_months(FILE_VALIDITY).unwrap_or(Time::MAX_UTC)
}
