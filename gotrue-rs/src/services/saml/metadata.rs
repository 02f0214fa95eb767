//! What identity providers say of themselves: fetched from an address that an administrator stored, and fetched anew
//! when it has become old.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::domain::sso::metadata::{IdentityProvider, LARGEST};
use reqwest::header::{ACCEPT, ACCEPT_CHARSET, HeaderValue};
use reqwest::{Method, Request};
use url::Url;

use super::ourselves;
use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::http_client::Limits;
use crate::store::sso_providers;

const LIMITS: Limits = Limits { bytes: LARGEST, time: Duration::from_secs(5) };

/// From then on an administrator is told that a description will not be good for long.
const SOON: TimeDelta = TimeDelta::hours(24);

/// The text at an address; 400 `saml_metadata_fetch_failed` where there is none.
pub async fn fetch(cx: &Cx, address: &str) -> Result<String> {
    let url = Url::parse(address).map_err(|_| Error::invalid("metadata_url is not a valid URL"))?;
    let mut request = Request::new(Method::GET, url);
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/xml;charset=UTF-8"));
    request.headers_mut().insert(ACCEPT_CHARSET, HeaderValue::from_static("UTF-8"));
    cx.journal.note(Step::Call("saml.metadata"));
    let answer =
        cx.app.http.call_stranger(request, LIMITS).await.map_err(|cause| {
            failed(format!("SAML Metadata could not be fetched from URL '{address}'")).because(cause)
        })?;
    if answer.status != 200 {
        let message = format!("HTTP {} error fetching SAML Metadata from URL '{address}'", answer.status);
        return Err(failed(message).because(format!("HTTP {}", answer.status)));
    }
    if answer.truncated {
        let message = format!("SAML Metadata at URL '{address}' is larger than {LARGEST} bytes");
        return Err(failed(message).because("it is too large"));
    }
    String::from_utf8(answer.body).map_err(|cause| {
        let message = "SAML Metadata XML contains invalid UTF-8 characters, which are not supported at this time";
        Error::invalid(message).because(cause)
    })
}

fn failed(message: String) -> Error {
    Error::bad_request("saml_metadata_fetch_failed", message)
}

/// What a stored provider says of itself: fetched anew and stored when it has become old and has an address. A fetch
/// that fails, or that brings somebody else's description, is logged and leaves what is stored. No connection is held
/// while it runs.
pub async fn fresh(cx: &Cx, provider: &SsoProvider) -> Result<IdentityProvider> {
    let stored = stored(provider)?;
    let saml = &provider.saml;
    if stored.valid_until.is_some_and(|end| end < cx.now + SOON) {
        tracing::warn!(sso_provider.id = %provider.id, valid_until = ?stored.valid_until, "SAML metadata is good for less than a day, or no longer: it should be renewed");
    }
    let Some(address) = saml.metadata_url.as_deref().filter(|address| !address.is_empty()) else {
        return Ok(stored);
    };
    if !stored.is_stale(saml.updated_at, cx.now) || !ourselves(cx)?.may_try(provider.id, cx.now) {
        return Ok(stored);
    }
    match renewed(cx, provider, address).await {
        Ok(renewed) => Ok(renewed),
        Err(error) => {
            // The address may hold a secret, and a refusal quotes it: only the cause is logged.
            let reason = error.cause.as_ref().map(ToString::to_string);
            tracing::warn!(sso_provider.id = %provider.id, reason, "SAML metadata could not be fetched anew: what is stored is used");
            Ok(stored)
        }
    }
}

async fn renewed(cx: &Cx, provider: &SsoProvider, address: &str) -> Result<IdentityProvider> {
    let text = fetch(cx, address).await?;
    let read = IdentityProvider::read(&text)?;
    if read.entity_id != provider.saml.entity_id {
        let message = format!("SAML Metadata at URL '{address}' is that of another entity");
        return Err(failed(message).because("it is that of another entity"));
    }
    sso_providers::refresh(&mut cx.db(), provider.id, address, &text, cx.now).await?;
    Ok(read)
}

/// What a stored provider says of itself, as it is stored.
pub fn stored(provider: &SsoProvider) -> Result<IdentityProvider> {
    IdentityProvider::read(&provider.saml.metadata_xml)
        .map_err(|bad| Error::internal("Error parsing SAML Metadata for SAML provider").because(bad))
}
