//! Providers that an administrator stored, as a sign-in uses them. Their addresses are a stranger's: whoever calls them
//! takes the guarded door of the HTTP client.

use gotrue_rules::domain::custom_provider::Protocol;
use gotrue_rules::domain::error;
use gotrue_rules::domain::external::custom::Custom;
use gotrue_rules::domain::policy::ExternalProvider;
use gotrue_rules::domain::secret::Secret;

use crate::cx::Cx;
use crate::services::sealing;
use crate::store::{self, custom_providers};

/// A stored provider that may be used now.
#[derive(Debug)]
pub struct Loaded {
    /// The provider.
    pub provider: Custom,
    /// Its settings, the client secret in the clear.
    pub settings: ExternalProvider,
}

/// Why a stored provider cannot be used, as `GET /authorize` quotes it.
#[derive(Debug, thiserror::Error)]
pub enum NotLoaded {
    /// There are none.
    #[error("custom OAuth providers are disabled")]
    Off,
    /// None has that name.
    #[error("custom provider {0} not found")]
    Unknown(String),
    /// The administrator switched it off.
    #[error("custom provider {0} is disabled")]
    Disabled(String),
    /// The database did not answer as it should.
    #[error("error finding custom provider")]
    Store(#[from] store::Error),
    /// Its secret cannot be read.
    #[error("error decrypting client secret for provider {0}")]
    Secret(String, #[source] error::Error),
}

/// The provider of that name (`custom:…`, in any letters); one statement.
pub async fn load(cx: &Cx, identifier: &str) -> Result<Loaded, NotLoaded> {
    let policy = &cx.app.policy.custom_oauth;
    if !policy.enabled {
        return Err(NotLoaded::Off);
    }
    let identifier = identifier.to_lowercase();
    let Some(stored) = custom_providers::by_identifier(&mut cx.db(), &identifier).await? else {
        return Err(NotLoaded::Unknown(identifier));
    };
    if !stored.enabled {
        return Err(NotLoaded::Disabled(identifier));
    }
    let secret = sealing::open(cx, stored.id, stored.client_secret.reveal());
    let secret = Secret::new(secret.map_err(|error| NotLoaded::Secret(identifier, error))?.plain);
    let external_url = policy.external_url.as_ref().unwrap_or(&cx.app.policy.site.external_url);
    let settings = ExternalProvider {
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
        ..ExternalProvider::default()
    };
    Ok(Loaded { provider: Custom(stored), settings })
}
