//! Verifies ID tokens of external issuers and reads their profiles.
//!
//! Nothing is written, and no connection is held during requests to the issuer.

use foundation::error::{Error, OAuthErrorCode, Result};
use gotrue_rules::domain::external::id_token::issuer_profiles::profile_from_id_token;
use gotrue_rules::domain::external::id_token::{
    AcceptedIdTokens, ExternalIdToken, PresentedIdToken, select_provider, select_stored_provider, stored_provider_name,
};
use gotrue_rules::domain::external::profile::ProviderProfile;
use platform::http_client::UrlTrust;
use platform::store::OrInternalError;

use crate::ports::oidc::{IssuerSource, TokenChecks};
use crate::request_context::RequestContext;
use crate::services::explanations;
use crate::store::custom_providers;

/// Finds the provider of a presented ID token, if it may sign users in.
///
/// A stored provider takes one statement, others none.
pub async fn find_provider(cx: &RequestContext, presented: &PresentedIdToken<'_>) -> Result<AcceptedIdTokens> {
    let Some(name) = stored_provider_name(presented) else {
        let selected = select_provider(presented, &cx.app.policy.external);
        return selected.inspect_err(|error| explanations::record_provider(cx, presented.provider, error.message()));
    };
    if !cx.app.policy.custom_oauth.enabled {
        return Err(Error::invalid("Custom OAuth providers are disabled"));
    }
    let stored = custom_providers::find_by_identifier(&mut cx.db(), name).await;
    select_stored_provider(name, stored.or_internal_error("Error finding custom provider")?)
}

/// Verifies an ID token and returns it with its profile.
///
/// If an access token is given, its `at_hash` must match.
pub async fn verify(
    cx: &RequestContext,
    accepted: &AcceptedIdTokens,
    id_token: &str,
    access_token: &str,
) -> Result<(ExternalIdToken, ProviderProfile)> {
    let simulated = cx.app.policy.external.provider(&accepted.provider);
    let simulated = simulated.and_then(|settings| settings.simulated_discovery_url(&accepted.issuer));
    let is_untrusted = accepted.is_issuer_untrusted && simulated.is_none();
    let source = IssuerSource {
        issuer: accepted.issuer.clone(),
        document: simulated.or_else(|| accepted.discovery_url.clone()),
        trust: if is_untrusted { UrlTrust::Untrusted } else { UrlTrust::Operator },
    };
    let checks =
        TokenChecks { access_token: Some(access_token).filter(|token| !token.is_empty()), ..TokenChecks::default() };
    // An unavailable issuer is an internal error; a token that is not the issuer's is the client's error.
    cx.app.oidc.discover(&source).await.map_err(Error::other)?;
    let token = cx.app.oidc.verify(&source, id_token, &checks).await.map_err(|cause| {
        explanations::record_id_token(cx, id_token, &cause.to_string());
        bad_id_token_error().with_cause(cause)
    })?;
    let profile = profile_from_id_token(&token).map_err(|cause| bad_id_token_error().with_cause(cause))?;
    Ok((token, profile.with_primary_email()))
}

fn bad_id_token_error() -> Error {
    Error::oauth(OAuthErrorCode::InvalidIdTokenRequest, "Bad ID token")
}
