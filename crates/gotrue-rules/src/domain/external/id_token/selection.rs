//! Selects the provider whose ID token a client presents, by provider name or issuer.

use foundation::error::{Error, ErrorCode, Result};

use crate::domain::custom_provider::{CustomProvider, Protocol};
use crate::domain::external::{issuers, jws};
use crate::domain::policy::{ExternalPolicy, ExternalProviderSettings};
use crate::wire::go_quote::go_quote;

/// The members of an ID token grant; empty if absent.
#[derive(Debug, Clone, Copy, Default)]
pub struct PresentedIdToken<'a> {
    pub id_token: &'a str,
    pub provider: &'a str,
    pub issuer: &'a str,
    pub client_id: &'a str,
}

/// The issuer and the audiences of accepted ID tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AcceptedIdTokens {
    /// The provider name that the identity is stored under.
    pub provider: String,
    pub issuer: String,
    /// The accepted audiences.
    pub audiences: Vec<String>,
    /// Whether the nonce is not checked.
    pub skip_nonce_check: bool,
    /// Whether a user without an email address is accepted.
    pub email_optional: bool,
    /// The URL of the discovery document, if it is not the issuer's default one.
    pub discovery_url: Option<String>,
    /// Whether the issuer's URL comes from the token or from a stored provider, not from the operator.
    pub is_issuer_untrusted: bool,
}

/// Providers with a single fixed issuer.
const FIXED_ISSUERS: [(&str, &str); 3] =
    [("kakao", issuers::KAKAO), ("vercel_marketplace", issuers::VERCEL_MARKETPLACE), ("snapchat", issuers::SNAPCHAT)];

/// Selects an enabled built-in provider by its name or its issuer.
/// Stored providers are handled separately.
pub fn select_provider(presented: &PresentedIdToken<'_>, policy: &ExternalPolicy) -> Result<AcceptedIdTokens> {
    let PresentedIdToken { provider, issuer, .. } = *presented;
    let keycloak = provider_settings(policy, "keycloak");
    let is_keycloak = provider == "keycloak" || (keycloak.enabled && !issuer.is_empty() && issuer == keycloak.url);
    let fixed = FIXED_ISSUERS.into_iter().find(|(name, own)| provider == *name || issuer == *own);
    if provider == "apple" || issuers::is_apple(issuer) {
        let issuer = detect_issuer(presented, "Apple", issuers::is_apple)?;
        select_built_in(policy, "apple", issuer)
    } else if provider == "google" || issuer == issuers::GOOGLE {
        select_built_in(policy, "google", issuers::GOOGLE.to_owned())
    } else if provider == "azure" || issuers::is_azure(issuer) {
        let base = provider_settings(policy, "azure").url;
        let only = issuers::azure_tenant_of_base(&base).filter(|_| policy.is_id_token_validation_strict);
        let is_operators = |tenant: &str| only.is_none_or(|only| only == tenant);
        let issuer =
            detect_issuer(presented, "Azure", |issuer| issuers::azure_tenant(issuer).is_some_and(is_operators))?;
        Ok(AcceptedIdTokens { is_issuer_untrusted: true, ..select_built_in(policy, "azure", issuer)? })
    } else if provider == "facebook" || issuer == issuers::FACEBOOK {
        let accepted = select_built_in(policy, "facebook", issuers::FACEBOOK.to_owned())?;
        // Facebook's limited login puts the nonce into the token unhashed.
        Ok(AcceptedIdTokens { skip_nonce_check: true, ..accepted })
    } else if is_keycloak {
        select_built_in(policy, "keycloak", keycloak.url.clone())
    } else if let Some((name, own)) = fixed {
        select_built_in(policy, name, own.to_owned())
    } else {
        select_allowed_issuer(presented, policy)
    }
}

/// The prefix of the name of a stored provider.
const STORED_PROVIDER_PREFIX: &str = "custom:";

/// The name of the stored provider that the request names, if any.
/// The comparison is case-sensitive.
pub fn stored_provider_name<'a>(presented: &PresentedIdToken<'a>) -> Option<&'a str> {
    Some(presented.provider).filter(|name| name.starts_with(STORED_PROVIDER_PREFIX))
}

/// Selects a stored provider, which must be enabled and use OpenID Connect.
pub fn select_stored_provider(name: &str, stored: Option<CustomProvider>) -> Result<AcceptedIdTokens> {
    let name = go_quote(name);
    let stored = stored.ok_or_else(|| Error::invalid(format!("Custom provider {name} not found")))?;
    if !stored.enabled {
        return Err(Error::new(ErrorCode::ProviderDisabled, format!("Custom provider {name} is disabled")));
    }
    let document = stored.protocol.effective_discovery_url();
    let Protocol::Oidc { issuer, .. } = stored.protocol else {
        return Err(Error::invalid(format!("Provider {name} is not an OIDC provider")));
    };
    Ok(AcceptedIdTokens {
        provider: stored.identifier,
        issuer,
        audiences: std::iter::once(stored.client_id).chain(stored.acceptable_client_ids).collect(),
        skip_nonce_check: stored.skip_nonce_check,
        email_optional: stored.email_optional,
        discovery_url: document,
        is_issuer_untrusted: true,
    })
}

/// Selects an issuer that the operator allows by URL.
/// The issuer becomes the provider's name, and the request names the client id. With `strict_id_tokens` it must be a
/// client id of an enabled provider.
fn select_allowed_issuer(presented: &PresentedIdToken<'_>, policy: &ExternalPolicy) -> Result<AcceptedIdTokens> {
    let PresentedIdToken { provider, issuer, client_id, .. } = *presented;
    let mut client_ids =
        policy.providers.values().filter(|provider| provider.enabled).flat_map(|provider| &provider.client_ids);
    let is_client = !policy.is_id_token_validation_strict || client_ids.any(|known| known == client_id);
    if !is_client || !policy.allowed_id_token_issuers.iter().any(|allowed| allowed == issuer) {
        return Err(Error::invalid(format!("Custom OIDC provider {} not allowed", go_quote(provider))));
    }
    Ok(AcceptedIdTokens {
        provider: issuer.to_owned(),
        issuer: issuer.to_owned(),
        audiences: vec![client_id.to_owned()],
        ..AcceptedIdTokens::default()
    })
}

fn select_built_in(policy: &ExternalPolicy, name: &str, issuer: String) -> Result<AcceptedIdTokens> {
    let settings = provider_settings(policy, name);
    if !settings.enabled {
        let message = format!("Provider (issuer {}) is not enabled", go_quote(&issuer));
        return Err(Error::new(ErrorCode::ProviderDisabled, message));
    }
    let mut clients = settings.client_ids;
    if name == "apple" && !policy.ios_bundle_id.is_empty() {
        clients.push(policy.ios_bundle_id.clone());
    }
    Ok(AcceptedIdTokens {
        provider: name.to_owned(),
        issuer,
        audiences: clients,
        skip_nonce_check: settings.skip_nonce_check,
        email_optional: settings.email_optional,
        ..AcceptedIdTokens::default()
    })
}

fn provider_settings(policy: &ExternalPolicy, name: &str) -> ExternalProviderSettings {
    policy.provider(name).cloned().unwrap_or_default()
}

/// Reads the issuer from the unverified token and checks that it belongs to the provider.
/// It must equal the request's issuer, if there is one. It only decides which keys are loaded; the token is verified
/// with them later.
fn detect_issuer(presented: &PresentedIdToken<'_>, provider: &str, is_its: impl Fn(&str) -> bool) -> Result<String> {
    let issuer = jws::unverified_issuer(presented.id_token)
        .ok_or_else(|| Error::invalid(format!("Unable to detect issuer in ID token for {provider} provider")))?;
    if !is_its(&issuer) {
        return Err(Error::invalid(format!("Detected ID token issuer is not an {provider} ID token issuer")));
    }
    if !presented.issuer.is_empty() && presented.issuer != issuer {
        return Err(Error::invalid("Provided issuer does not match ID token issuer"));
    }
    Ok(issuer)
}

#[cfg(test)]
mod tests;
