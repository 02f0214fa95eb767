//! Whose ID token a client gives: the built-in provider it names, or one whose issuer it names, and who its clients are.

use crate::domain::custom_provider::{CustomProvider, Protocol};
use crate::domain::error::{Error, Result};
use crate::domain::external::{issuers, jws};
use crate::domain::policy::{ExternalPolicy, ExternalProvider};
use crate::wire::go_quote::quoted;

/// What a client says of the token it gives; texts are empty if absent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Presented<'a> {
    /// The token.
    pub id_token: &'a str,
    /// The provider's name.
    pub provider: &'a str,
    /// The issuer's.
    pub issuer: &'a str,
    /// The client's own id there.
    pub client_id: &'a str,
}

/// Whose tokens are accepted, and for whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    /// The provider, as the identity names it.
    pub provider: String,
    /// The issuer.
    pub issuer: String,
    /// The clients it may be for.
    pub clients: Vec<String>,
    /// A nonce is not looked at.
    pub skip_nonce_check: bool,
    /// An account without an address is accepted.
    pub email_optional: bool,
    /// Where the issuer's document is, if not at its usual place.
    pub document: Option<String>,
    /// Somebody else than the operator chose the issuer's address: the token, or who stored the provider.
    pub is_strangers: bool,
}

/// Providers with one issuer of their own.
const WITH_ONE_ISSUER: [(&str, &str); 3] =
    [("kakao", issuers::KAKAO), ("vercel_marketplace", issuers::VERCEL_MARKETPLACE), ("snapchat", issuers::SNAPCHAT)];

/// The provider that is meant, whether by its name or by its issuer, if it may be used. Stored providers are not known
/// here.
pub fn choose(presented: &Presented<'_>, policy: &ExternalPolicy) -> Result<Accepted> {
    let Presented { provider, issuer, .. } = *presented;
    let keycloak = settings(policy, "keycloak");
    let is_keycloak = provider == "keycloak" || (keycloak.enabled && !issuer.is_empty() && issuer == keycloak.url);
    let one = WITH_ONE_ISSUER.into_iter().find(|(name, own)| provider == *name || issuer == *own);
    if provider == "apple" || issuers::is_apple(issuer) {
        let issuer = detected(presented, "Apple", issuers::is_apple)?;
        built_in(policy, "apple", issuer)
    } else if provider == "google" || issuer == issuers::GOOGLE {
        built_in(policy, "google", issuers::GOOGLE.to_owned())
    } else if provider == "azure" || issuers::is_azure(issuer) {
        let base = settings(policy, "azure").url;
        let only = issuers::azure_tenant_of_base(&base).filter(|_| policy.strict_id_tokens);
        let is_ours = |tenant: &str| only.is_none_or(|only| only == tenant);
        let issuer = detected(presented, "Azure", |issuer| issuers::azure_tenant(issuer).is_some_and(is_ours))?;
        Ok(Accepted { is_strangers: true, ..built_in(policy, "azure", issuer)? })
    } else if provider == "facebook" || issuer == issuers::FACEBOOK {
        let accepted = built_in(policy, "facebook", issuers::FACEBOOK.to_owned())?;
        // Its limited login hands the nonce on as it was given.
        Ok(Accepted { skip_nonce_check: true, ..accepted })
    } else if is_keycloak {
        built_in(policy, "keycloak", keycloak.url.clone())
    } else if let Some((name, own)) = one {
        built_in(policy, name, own.to_owned())
    } else {
        by_issuer(presented, policy)
    }
}

/// What the name of a stored provider begins with.
const STORED: &str = "custom:";

/// The name of the stored provider that is meant, if one is; its letters count.
pub fn stored_name<'a>(presented: &Presented<'a>) -> Option<&'a str> {
    Some(presented.provider).filter(|name| name.starts_with(STORED))
}

/// That the stored provider of that name may be used, and is one that gives ID tokens.
pub fn choose_stored(name: &str, stored: Option<CustomProvider>) -> Result<Accepted> {
    let name = quoted(name);
    let stored = stored.ok_or_else(|| Error::invalid(format!("Custom provider {name} not found")))?;
    if !stored.enabled {
        return Err(Error::bad_request("provider_disabled", format!("Custom provider {name} is disabled")));
    }
    let document = stored.protocol.document();
    let Protocol::Oidc { issuer, .. } = stored.protocol else {
        return Err(Error::invalid(format!("Provider {name} is not an OIDC provider")));
    };
    Ok(Accepted {
        provider: stored.identifier,
        issuer,
        clients: std::iter::once(stored.client_id).chain(stored.acceptable_client_ids).collect(),
        skip_nonce_check: stored.skip_nonce_check,
        email_optional: stored.email_optional,
        document,
        is_strangers: true,
    })
}

/// An issuer that the operator allows by its address. It becomes the provider's name, and whoever asks says for which
/// client: where tokens are held strictly, only for one that the operator has.
fn by_issuer(presented: &Presented<'_>, policy: &ExternalPolicy) -> Result<Accepted> {
    let Presented { provider, issuer, client_id, .. } = *presented;
    let mut ours = policy.providers.values().filter(|it| it.enabled).flat_map(|it| &it.client_ids);
    let is_client = !policy.strict_id_tokens || ours.any(|ours| ours == client_id);
    if !is_client || !policy.allowed_id_token_issuers.iter().any(|allowed| allowed == issuer) {
        return Err(Error::invalid(format!("Custom OIDC provider {} not allowed", quoted(provider))));
    }
    Ok(Accepted {
        provider: issuer.to_owned(),
        issuer: issuer.to_owned(),
        clients: vec![client_id.to_owned()],
        ..Accepted::default()
    })
}

fn built_in(policy: &ExternalPolicy, name: &str, issuer: String) -> Result<Accepted> {
    let settings = settings(policy, name);
    if !settings.enabled {
        let message = format!("Provider (issuer {}) is not enabled", quoted(&issuer));
        return Err(Error::bad_request("provider_disabled", message));
    }
    let mut clients = settings.client_ids;
    if name == "apple" && !policy.ios_bundle_id.is_empty() {
        clients.push(policy.ios_bundle_id.clone());
    }
    Ok(Accepted {
        provider: name.to_owned(),
        issuer,
        clients,
        skip_nonce_check: settings.skip_nonce_check,
        email_optional: settings.email_optional,
        ..Accepted::default()
    })
}

fn settings(policy: &ExternalPolicy, name: &str) -> ExternalProvider {
    policy.provider(name).cloned().unwrap_or_default()
}

/// The issuer that the token names, which must be one of the provider's and the one that the client says. Whose keys
/// are wanted is all that it decides: the token is verified with them later.
fn detected(presented: &Presented<'_>, provider: &str, is_its: impl Fn(&str) -> bool) -> Result<String> {
    let issuer = jws::named_issuer(presented.id_token)
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
