//! Verifies the ID token in a provider's token response.

use gotrue_rules::domain::external::id_token::ExternalIdToken;
use gotrue_rules::domain::external::provider::{IdTokenCheck, ProviderTokenResponse};

use super::provider_request::ProviderError;
use super::{ResolvedProvider, discovery_source};
use crate::ports::http_client::UrlTrust;
use crate::ports::oidc::{IssuerSource, TokenChecks};
use crate::request_context::RequestContext;

/// Verifies issuer, audience, time and `at_hash` of the ID token and returns its claims.
pub(super) async fn verify_id_token(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    token: &ProviderTokenResponse,
    wanted: &IdTokenCheck,
) -> Result<ExternalIdToken, ProviderError> {
    let own = discovery_source(&ready.config, ready.enabled.trust).filter(|source| source.issuer == wanted.issuer);
    let trust = if wanted.is_issuer_from_token { UrlTrust::Untrusted } else { ready.enabled.trust };
    let source = own.unwrap_or_else(|| IssuerSource { issuer: wanted.issuer.clone(), document: None, trust });
    let clients = &ready.enabled.settings.client_ids;
    let checks = TokenChecks {
        clients: (!wanted.allows_any_audience).then_some(&clients[..clients.len().min(1)]),
        access_token: Some(&token.access_token),
    };
    Ok(cx.app.oidc.verify(&source, &token.id_token, &checks).await?)
}
