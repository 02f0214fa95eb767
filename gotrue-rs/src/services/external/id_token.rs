//! Verifies the ID token in a provider's token response.

use gotrue_rules::domain::external::id_token::ExternalIdToken;
use gotrue_rules::domain::external::provider::{IdTokenCheck, ProviderTokenResponse};
use platform::http_client::UrlTrust;

use super::provider::{ResolvedProvider, discovery_source};
use super::provider_request::ProviderError;
use crate::ports::oidc::{IssuerSource, TokenChecks};
use crate::request_context::RequestContext;

/// Verifies issuer, audience, time and `at_hash` of the ID token and returns its claims.
pub(super) async fn verify_id_token(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    token: &ProviderTokenResponse,
    wanted: &IdTokenCheck,
) -> Result<ExternalIdToken, ProviderError> {
    let own = discovery_source(&ready.config, &ready.enabled).filter(|source| source.issuer == wanted.issuer);
    let settings = &ready.enabled.settings;
    let document = settings.simulated_discovery_url(&wanted.issuer);
    let is_untrusted = wanted.is_issuer_from_token && document.is_none();
    let trust = if is_untrusted { UrlTrust::Untrusted } else { ready.enabled.trust };
    let source = own.unwrap_or_else(|| IssuerSource { issuer: wanted.issuer.clone(), document, trust });
    let clients = &settings.client_ids;
    let checks = TokenChecks {
        clients: (!wanted.allows_any_audience).then_some(&clients[..clients.len().min(1)]),
        access_token: Some(&token.access_token),
    };
    Ok(cx.app.oidc.verify(&source, &token.id_token, &checks).await?)
}
