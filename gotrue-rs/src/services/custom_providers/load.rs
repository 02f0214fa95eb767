//! Loads stored custom providers for a sign-in.
//!
//! Their URLs are untrusted: requests to them use the restricted mode of the HTTP client.

use foundation::error;
use foundation::secret::Secret;
use gotrue_rules::domain::custom_provider::Protocol;
use gotrue_rules::domain::external::custom::StoredProvider;
use gotrue_rules::domain::policy::ExternalProviderSettings;
use platform::store;

use crate::request_context::RequestContext;
use crate::services::sealing;
use crate::store::custom_providers;

/// A stored provider that is enabled.
#[derive(Debug)]
pub struct LoadedProvider {
    pub provider: StoredProvider,
    /// Its settings, with the decrypted client secret.
    pub settings: ExternalProviderSettings,
}

/// Why a stored provider cannot be used; `GET /authorize` quotes the text.
#[derive(Debug, thiserror::Error)]
pub enum LoadProviderError {
    /// Custom providers are disabled.
    #[error("custom OAuth providers are disabled")]
    FeatureDisabled,
    /// No provider has this identifier.
    #[error("custom provider {0} not found")]
    Unknown(String),
    /// The administrator disabled the provider.
    #[error("custom provider {0} is disabled")]
    Disabled(String),
    /// The database query failed.
    #[error("error finding custom provider")]
    Store(#[from] store::Error),
    /// The client secret cannot be decrypted.
    #[error("error decrypting client secret for provider {0}")]
    Secret(String, #[source] error::Error),
}

/// Loads the provider of this identifier (`custom:…`, case-insensitive); one statement.
pub async fn load_provider(cx: &RequestContext, identifier: &str) -> Result<LoadedProvider, LoadProviderError> {
    let policy = &cx.app.policy.custom_oauth;
    if !policy.enabled {
        return Err(LoadProviderError::FeatureDisabled);
    }
    let identifier = identifier.to_lowercase();
    let Some(stored) = custom_providers::find_by_identifier(&mut cx.db(), &identifier).await? else {
        return Err(LoadProviderError::Unknown(identifier));
    };
    if !stored.enabled {
        return Err(LoadProviderError::Disabled(identifier));
    }
    let secret = sealing::open(cx, stored.id, stored.client_secret.reveal());
    let secret = Secret::new(secret.map_err(|error| LoadProviderError::Secret(identifier, error))?.plain);
    let external_url = policy.external_url.as_ref().unwrap_or(&cx.app.policy.site.external_url);
    let settings = ExternalProviderSettings {
        enabled: true,
        client_ids: std::iter::once(&stored.client_id).chain(&stored.acceptable_client_ids).cloned().collect(),
        secret,
        redirect_uri: format!("{}/callback", external_url.trim_end_matches('/')),
        url: match &stored.protocol {
            Protocol::OAuth2 { authorization_url, .. } => authorization_url.clone(),
            Protocol::Oidc { issuer, .. } => issuer.clone(),
        },
        skip_nonce_check: stored.skip_nonce_check,
        email_optional: stored.email_optional,
        ..ExternalProviderSettings::default()
    };
    Ok(LoadedProvider { provider: StoredProvider(stored), settings })
}
