//! Loads the discovery document of a custom OIDC provider before the provider is stored.

use foundation::error::{Error, Result};
use gotrue_rules::domain::custom_provider::{CustomProvider, Protocol, StoredDiscovery};
use gotrue_rules::domain::external::response;
use http::StatusCode;
use platform::http_client::UrlTrust;
use platform::journal::Step;

use crate::ports::oidc::{IssuerSource, OidcError};
use crate::request_context::RequestContext;

/// Stores the current discovery document in the provider; does nothing for OAuth 2.0.
///
/// # Errors
///
/// 400 if the document cannot be fetched, has another issuer, or lacks a required field.
pub async fn load_discovery(cx: &RequestContext, provider: &mut CustomProvider) -> Result<()> {
    let Some(source) = discovery_source(&provider.protocol) else { return Ok(()) };
    let at = source.document.clone().unwrap_or_default();
    cx.journal.record(Step::Call("discovery"));
    let found = cx.app.oidc.discover_uncached(&source).await.map_err(|error| discovery_error(&at, error))?;
    if found.issuer != source.issuer {
        return Err(discovery_error(&at, OidcError::IssuerMismatch { expected: source.issuer, got: found.issuer }));
    }
    let missing: Vec<&str> = [
        ("authorization_endpoint", &found.authorization_endpoint),
        ("token_endpoint", &found.token_endpoint),
        ("jwks_uri", &found.jwks_uri),
    ]
    .into_iter()
    .filter_map(|(name, url)| url.is_empty().then_some(name))
    .collect();
    if !missing.is_empty() {
        let message = format!("OIDC discovery document is missing required fields: {}", missing.join(", "));
        return Err(Error::invalid(message));
    }
    let document = response::decode::<StoredDiscovery>(&found.document);
    let document = document.map_err(|error| discovery_error(&at, OidcError::InvalidDocument(error.to_string())))?;
    if let Protocol::Oidc { discovered, .. } = &mut provider.protocol {
        *discovered = Some(Box::new(document));
    }
    Ok(())
}

/// Evicts the cached discovery document and keys of the provider's issuer.
pub fn evict_discovery(cx: &RequestContext, protocol: &Protocol) {
    if let Some(source) = discovery_source(protocol) {
        cx.app.oidc.evict(&source);
    }
}

fn discovery_source(protocol: &Protocol) -> Option<IssuerSource> {
    let Protocol::Oidc { issuer, .. } = protocol else { return None };
    Some(IssuerSource {
        issuer: issuer.clone(),
        document: protocol.effective_discovery_url(),
        trust: UrlTrust::Untrusted,
    })
}

fn discovery_error(at: &str, error: OidcError) -> Error {
    let why = match &error {
        OidcError::Status { status, .. } => {
            let reason = StatusCode::from_u16(*status).ok().and_then(|status| status.canonical_reason());
            format!("discovery request to {at} returned {status} {}", reason.unwrap_or_default())
        }
        OidcError::IssuerMismatch { expected, got } => format!("issuer mismatch, expected {expected:?} got {got:?}"),
        OidcError::InvalidDocument(why) => format!("failed to decode discovery document from {at}: {why}"),
        _ => format!("discovery request to {at} failed: nobody answered at a public address"),
    };
    Error::invalid(format!("OIDC discovery from {at:?} failed: oidc: {why}")).with_cause(error)
}
