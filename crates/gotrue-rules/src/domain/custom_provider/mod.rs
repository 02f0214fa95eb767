//! Custom OAuth 2.0 and OpenID Connect providers that an administrator stores.

pub mod rules;
pub mod url_check;

use foundation::secret::Secret;
use foundation::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

/// The prefix of every custom provider's identifier.
pub const IDENTIFIER_PREFIX: &str = "custom:";
/// The scope that OpenID Connect requires.
const OPENID: &str = "openid";

/// An external provider that an administrator stored; a row of `custom_oauth_providers`.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomProvider {
    pub id: Uuid,
    /// `identifier`: the provider's name in the API, beginning with [`IDENTIFIER_PREFIX`].
    pub identifier: String,
    /// `name`, for display.
    pub name: String,
    pub client_id: String,
    /// `client_secret` as stored.
    pub client_secret: Secret,
    /// `acceptable_client_ids`: further accepted audiences of ID tokens.
    pub acceptable_client_ids: Vec<String>,
    pub scopes: Vec<String>,
    pub pkce_enabled: bool,
    /// `attribute_mapping`: the claim mapping; see [`crate::domain::external::claims::apply_mapping`].
    pub attribute_mapping: Map<String, Value>,
    /// `custom_claims_allowlist`: names of provider claims that are kept.
    pub custom_claims_allowlist: Vec<String>,
    /// `authorization_params`: additional authorization parameters.
    pub authorization_params: Map<String, Value>,
    pub enabled: bool,
    /// `email_optional`: whether users without an email address are accepted.
    pub email_optional: bool,
    /// `skip_nonce_check`: whether the nonce of ID tokens is not checked.
    pub skip_nonce_check: bool,
    /// `provider_type` and its settings.
    pub protocol: Protocol,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A custom provider's protocol and endpoints.
#[derive(Debug, Clone, PartialEq)]
pub enum Protocol {
    OAuth2 {
        authorization_url: String,
        token_url: String,
        userinfo_url: String,
        /// `jwks_uri`; stored but not used.
        jwks_uri: Option<String>,
    },
    Oidc {
        issuer: String,
        /// `discovery_url`, if it is not the default one below the issuer.
        discovery_url: Option<String>,
        /// `cached_discovery`: the document as of the last change of its URL.
        discovered: Option<Box<StoredDiscovery>>,
    },
}

/// The stored members of a discovery document (OpenID Connect Discovery §3).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredDiscovery {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    /// `userinfo_endpoint`; omitted if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub userinfo_endpoint: String,
    pub jwks_uri: String,
    /// `scopes_supported`; omitted if empty, like the lists below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes_supported: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_types_supported: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grant_types_supported: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subject_types_supported: Vec<String>,
}

impl CustomProvider {
    /// Whether an audience contains an accepted client id.
    pub fn accepts_audience(&self, audience: &[String]) -> bool {
        audience.iter().any(|client| *client == self.client_id || self.acceptable_client_ids.contains(client))
    }
}

impl Protocol {
    /// The name in the API: `oauth2` or `oidc`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::OAuth2 { .. } => "oauth2",
            Self::Oidc { .. } => "oidc",
        }
    }

    /// The URL of the discovery document; `None` for OAuth 2.0.
    /// It is the configured one, else the default one below the issuer.
    pub fn effective_discovery_url(&self) -> Option<String> {
        match self {
            Self::OAuth2 { .. } => None,
            Self::Oidc { discovery_url: Some(url), .. } if !url.is_empty() => Some(url.clone()),
            Self::Oidc { issuer, .. } => {
                Some(format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')))
            }
        }
    }

    /// The scopes, with `openid` prepended for OpenID Connect if it is missing.
    pub fn with_openid(&self, mut scopes: Vec<String>) -> Vec<String> {
        if matches!(self, Self::Oidc { .. }) && !scopes.iter().any(|scope| scope == OPENID) {
            scopes.insert(0, OPENID.to_owned());
        }
        scopes
    }
}
