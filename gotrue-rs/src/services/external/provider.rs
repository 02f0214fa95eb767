//! Enabled providers, with their settings and endpoints.

use std::ops::Deref;
use std::sync::Arc;

use gotrue_rules::domain::custom_provider::IDENTIFIER_PREFIX;
use gotrue_rules::domain::external::custom::StoredProvider;
use gotrue_rules::domain::external::provider::{Provider, ProviderConfig, ProviderEndpoints};
use gotrue_rules::domain::external::{availability, providers};
use gotrue_rules::domain::policy::ExternalProviderSettings;
use platform::http_client::UrlTrust;

use crate::ports::oidc::{Discovery, IssuerSource, OidcError};
use crate::request_context::RequestContext;
use crate::services::custom_providers::{self, LoadProviderError, LoadedProvider};

/// An enabled provider with its settings.
#[derive(Debug)]
pub struct EnabledProvider {
    pub provider: ProviderSource,
    /// The settings of the operator or of an administrator.
    pub settings: ExternalProviderSettings,
    /// Whether its URLs come from the operator or from an administrator.
    pub trust: UrlTrust,
}

/// Where a provider is defined.
pub enum ProviderSource {
    /// In this program.
    BuiltIn(&'static dyn Provider),
    /// In the database.
    Stored(Box<StoredProvider>),
}

impl Deref for ProviderSource {
    type Target = dyn Provider;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::BuiltIn(provider) => *provider,
            Self::Stored(provider) => &**provider,
        }
    }
}

impl std::fmt::Debug for ProviderSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a provider cannot be used; `Unsupported provider: …` quotes the text.
#[derive(Debug, thiserror::Error)]
pub enum ProviderLookupError {
    /// The built-in provider is unknown or not configured.
    #[error(transparent)]
    BuiltIn(#[from] availability::ProviderUnavailable),
    /// The stored provider is unknown or disabled.
    #[error(transparent)]
    Stored(#[from] LoadProviderError),
    /// The discovery document of a built-in provider is unavailable.
    #[error(transparent)]
    Discovery(OidcError),
    /// The discovery document of a stored provider is unavailable.
    #[error("error creating OIDC provider: failed to create OIDC provider: {0}")]
    StoredDiscovery(OidcError),
}

/// Finds an enabled provider by its name, case-insensitive. A stored provider takes one statement.
pub async fn find_enabled_provider(cx: &RequestContext, name: &str) -> Result<EnabledProvider, ProviderLookupError> {
    let name = name.to_lowercase();
    if name.starts_with(IDENTIFIER_PREFIX) {
        let LoadedProvider { provider, settings } = custom_providers::load_provider(cx, &name).await?;
        return Ok(EnabledProvider {
            provider: ProviderSource::Stored(Box::new(provider)),
            settings,
            trust: UrlTrust::Untrusted,
        });
    }
    let (Some(provider), Some(settings)) = (providers::find(&name), cx.app.policy.external.provider(&name)) else {
        return Err(availability::ProviderUnavailable::Unknown(name).into());
    };
    availability::validate_settings(provider, settings)?;
    let provider = ProviderSource::BuiltIn(provider);
    Ok(EnabledProvider { provider, settings: settings.clone(), trust: UrlTrust::Operator })
}

/// An enabled provider with its endpoints.
#[derive(Debug)]
pub(super) struct ResolvedProvider {
    pub enabled: EnabledProvider,
    pub config: ProviderConfig,
    /// Its discovery document, if it has one.
    pub document: Option<Arc<Discovery>>,
}

/// Finds an enabled provider and resolves its endpoints, by discovery if necessary.
pub(super) async fn resolve_provider(cx: &RequestContext, name: &str) -> Result<ResolvedProvider, ProviderLookupError> {
    let enabled = find_enabled_provider(cx, name).await?;
    let config = enabled.provider.config(&enabled.settings).for_settings(&enabled.settings);
    let document = match discovery_source(&config, &enabled) {
        Some(source) => Some(cx.app.oidc.discover(&source).await.map_err(|error| match enabled.trust {
            UrlTrust::Operator => ProviderLookupError::Discovery(error),
            UrlTrust::Untrusted => ProviderLookupError::StoredDiscovery(error),
        })?),
        None => None,
    };
    Ok(ResolvedProvider { enabled, config, document })
}

/// The source of the discovery document; `None` if the endpoints are fixed.
pub(super) fn discovery_source(place: &ProviderConfig, enabled: &EnabledProvider) -> Option<IssuerSource> {
    let ProviderEndpoints::Discovered { issuer, discovery_url: document, .. } = &place.endpoints else { return None };
    let document = enabled.settings.simulated_discovery_url(issuer).or_else(|| document.clone());
    Some(IssuerSource { issuer: issuer.clone(), document, trust: enabled.trust })
}

/// Whether a provider of this name uses OAuth 1.0a, regardless of its settings.
pub(super) fn is_oauth1(cx: &RequestContext, name: &str) -> bool {
    let name = name.to_lowercase();
    let known = providers::find(&name).zip(cx.app.policy.external.provider(&name));
    known.is_some_and(|(provider, settings)| {
        matches!(provider.config(settings).endpoints, ProviderEndpoints::OAuth1 { .. })
    })
}

impl ResolvedProvider {
    /// The client id that starts sign-ins.
    pub(super) fn client_id(&self) -> &str {
        self.enabled.settings.client_ids.first().map_or("", String::as_str)
    }

    /// The URL of the authorization endpoint, where the browser is sent.
    pub(super) fn authorize_endpoint(&self) -> String {
        let url = match &self.config.endpoints {
            ProviderEndpoints::OAuth2 { authorize, .. }
            | ProviderEndpoints::OAuth1 { authorize, .. }
            | ProviderEndpoints::Discovered { endpoint_overrides: Some((authorize, _)), .. } => authorize,
            ProviderEndpoints::Discovered { endpoint_overrides: None, .. } => {
                self.document.as_ref().map_or("", |document| &document.authorization_endpoint)
            }
        };
        self.enabled.settings.request_url(url)
    }

    /// The URL of the token endpoint.
    pub(super) fn token_endpoint(&self) -> &str {
        match &self.config.endpoints {
            ProviderEndpoints::OAuth2 { token, .. }
            | ProviderEndpoints::OAuth1 { access_token: token, .. }
            | ProviderEndpoints::Discovered { endpoint_overrides: Some((_, token)), .. } => token,
            ProviderEndpoints::Discovered { endpoint_overrides: None, .. } => {
                self.document.as_ref().map_or("", |document| &document.token_endpoint)
            }
        }
    }

    /// The URL of the userinfo endpoint in the discovery document; empty if there is none.
    pub(super) fn userinfo_url(&self) -> &str {
        self.document.as_ref().map_or("", |document| &document.userinfo_endpoint)
    }
}
