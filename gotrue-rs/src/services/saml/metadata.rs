//! Metadata of identity providers: fetched from the stored URL, and refreshed when stale.

use std::time::Duration;

use chrono::TimeDelta;
use foundation::error::{Error, ErrorCode, Result};
use foundation::error_chain::ErrorChain;
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::domain::sso::creation::invalid_metadata_url;
use gotrue_rules::domain::sso::metadata::{IdentityProvider, MAX_METADATA_BYTES};
use platform::http_client::ResponseLimits;
use platform::journal::Step;
use reqwest::header::{ACCEPT, ACCEPT_CHARSET, HeaderValue};
use reqwest::{Method, Request};
use telemetry::log_limit::LogLimit;
use url::Url;

use super::service_provider;
use crate::request_context::RequestContext;
use crate::store::sso_providers;

const LIMITS: ResponseLimits = ResponseLimits { bytes: MAX_METADATA_BYTES, time: Duration::from_secs(5) };

/// Warnings of expiring metadata, by provider: every request that starts a sign-in reads the metadata.
static EXPIRING: LogLimit = LogLimit::new();
/// The remaining validity below which a warning is logged.
const EXPIRY_WARNING: TimeDelta = TimeDelta::hours(24);

/// Fetches metadata from a URL; 400 `saml_metadata_fetch_failed` on failure.
pub async fn fetch(cx: &RequestContext, address: &str) -> Result<String> {
    let url = Url::parse(address).map_err(|_| invalid_metadata_url())?;
    let mut request = Request::new(Method::GET, url);
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/xml;charset=UTF-8"));
    request.headers_mut().insert(ACCEPT_CHARSET, HeaderValue::from_static("UTF-8"));
    cx.journal.record(Step::Call("saml.metadata"));
    let answer = cx.app.http.send_untrusted("saml-metadata", request, LIMITS).await.map_err(|cause| {
        fetch_error(format!("SAML Metadata could not be fetched from URL '{address}'")).with_cause(cause)
    })?;
    if answer.status != 200 {
        let message = format!("HTTP {} error fetching SAML Metadata from URL '{address}'", answer.status);
        return Err(fetch_error(message).with_cause(format!("HTTP {}", answer.status)));
    }
    if answer.is_truncated {
        let message = format!("SAML Metadata at URL '{address}' is larger than {MAX_METADATA_BYTES} bytes");
        return Err(fetch_error(message).with_cause("the metadata is too large"));
    }
    String::from_utf8(answer.body).map_err(|cause| {
        let message = "SAML Metadata XML contains invalid UTF-8 characters, which are not supported at this time";
        Error::invalid(message).with_cause(cause)
    })
}

fn fetch_error(message: String) -> Error {
    Error::new(ErrorCode::SamlMetadataFetchFailed, message)
}

/// The metadata of a stored provider.
///
/// Stale metadata with a URL is fetched and stored anew. If the fetch fails or returns another entity, the failure is
/// logged and the stored metadata is used. No connection is held during the fetch.
pub async fn load_current(cx: &RequestContext, provider: &SsoProvider) -> Result<IdentityProvider> {
    let stored = parse_stored(provider)?;
    let saml = &provider.saml;
    if stored.valid_until.is_some_and(|end| end < cx.now + EXPIRY_WARNING)
        && let Some(left_out) = EXPIRING.admit(&provider.id.to_string())
    {
        tracing::warn!(
            sso_provider.id = %provider.id,
            valid_until = ?stored.valid_until,
            left_out,
            "SAML metadata expires within a day or is expired"
        );
    }
    let Some(address) = saml.metadata_url.as_deref().filter(|address| !address.is_empty()) else {
        return Ok(stored);
    };
    if !stored.is_stale(saml.updated_at, cx.now) || !service_provider(cx)?.try_start_metadata_fetch(provider.id, cx.now)
    {
        return Ok(stored);
    }
    match refetch(cx, provider, address).await {
        Ok(renewed) => Ok(renewed),
        Err(error) => {
            // The URL may contain a secret and the error quotes it, so only the cause is logged.
            let reason = error.cause.as_ref().map(|cause| tracing::field::display(ErrorChain(cause.as_ref())));
            tracing::warn!(
                sso_provider.id = %provider.id,
                reason,
                "SAML metadata refresh failed, stored metadata used"
            );
            Ok(stored)
        }
    }
}

async fn refetch(cx: &RequestContext, provider: &SsoProvider, address: &str) -> Result<IdentityProvider> {
    let text = fetch(cx, address).await?;
    let read = IdentityProvider::parse(&text)?;
    if read.entity_id != provider.saml.entity_id {
        let message = format!("SAML Metadata at URL '{address}' is that of another entity");
        return Err(fetch_error(message).with_cause("the metadata has another entity id"));
    }
    sso_providers::update_metadata(&mut cx.db(), provider.id, address, &text, cx.now).await?;
    Ok(read)
}

/// Parses the stored metadata of a provider.
pub fn parse_stored(provider: &SsoProvider) -> Result<IdentityProvider> {
    IdentityProvider::parse(&provider.saml.metadata_xml)
        .map_err(|bad| Error::internal("Error parsing SAML Metadata for SAML provider").with_cause(bad))
}
