//! Providers that an administrator stores (`endpoints.md` §13.7): what one is, and what may be said of one.

pub mod address;
pub mod rules;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::domain::secret::Secret;
use crate::domain::user::Time;

/// How the name of every stored provider begins.
pub const PREFIX: &str = "custom:";
/// The scope without which OpenID Connect is none.
const OPENID: &str = "openid";

/// A stored provider.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomProvider {
    /// `id`.
    pub id: Uuid,
    /// `identifier`: the name it is called by, beginning with [`PREFIX`].
    pub identifier: String,
    /// `name`, for people.
    pub name: String,
    /// `client_id`: ours there.
    pub client_id: String,
    /// `client_secret` as it is stored.
    pub client_secret: Secret,
    /// `acceptable_client_ids`: others of ours for which ID tokens may be.
    pub acceptable_client_ids: Vec<String>,
    /// `scopes`.
    pub scopes: Vec<String>,
    /// `pkce_enabled`.
    pub pkce_enabled: bool,
    /// `attribute_mapping`; see [`crate::domain::external::claims::mapped`].
    pub attribute_mapping: Map<String, Value>,
    /// `custom_claims_allowlist`: its own claims that are kept.
    pub custom_claims_allowlist: Vec<String>,
    /// `authorization_params`: more of what a browser brings it.
    pub authorization_params: Map<String, Value>,
    /// `enabled`.
    pub enabled: bool,
    /// `email_optional`: people without an address are welcome.
    pub email_optional: bool,
    /// `skip_nonce_check`: ID tokens without our nonce are accepted.
    pub skip_nonce_check: bool,
    /// `provider_type` and what belongs to it.
    pub protocol: Protocol,
    /// `created_at`.
    pub created_at: Time,
    /// `updated_at`.
    pub updated_at: Time,
}

/// What a provider speaks, and where.
#[derive(Debug, Clone, PartialEq)]
pub enum Protocol {
    /// `oauth2`.
    OAuth2 {
        /// `authorization_url`: where a browser is sent.
        authorization_url: String,
        /// `token_url`: where a code is exchanged.
        token_url: String,
        /// `userinfo_url`: where people are asked about.
        userinfo_url: String,
        /// `jwks_uri`; kept only.
        jwks_uri: Option<String>,
    },
    /// `oidc`.
    Oidc {
        /// `issuer`.
        issuer: String,
        /// `discovery_url`, if its document is not at the usual place.
        discovery_url: Option<String>,
        /// `cached_discovery`: what the document said when an administrator last gave its address.
        discovered: Option<Box<Discovered>>,
    },
}

/// What is kept of a discovery document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Discovered {
    /// `issuer`.
    pub issuer: String,
    /// `authorization_endpoint`.
    pub authorization_endpoint: String,
    /// `token_endpoint`.
    pub token_endpoint: String,
    /// `userinfo_endpoint`; left out when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub userinfo_endpoint: String,
    /// `jwks_uri`.
    pub jwks_uri: String,
    /// `scopes_supported`; left out when empty, like the lists below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes_supported: Vec<String>,
    /// `response_types_supported`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_types_supported: Vec<String>,
    /// `grant_types_supported`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grant_types_supported: Vec<String>,
    /// `subject_types_supported`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subject_types_supported: Vec<String>,
}

impl CustomProvider {
    /// Whether an ID token for these clients may be used: one of them is ours.
    pub fn accepts_audience(&self, audience: &[String]) -> bool {
        audience.iter().any(|client| *client == self.client_id || self.acceptable_client_ids.contains(client))
    }
}

impl Protocol {
    /// `oauth2` or `oidc`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::OAuth2 { .. } => "oauth2",
            Self::Oidc { .. } => "oidc",
        }
    }

    /// Where the discovery document is: at its own address, else at the usual place below the issuer; none for OAuth 2.0.
    pub fn document(&self) -> Option<String> {
        match self {
            Self::OAuth2 { .. } => None,
            Self::Oidc { discovery_url: Some(url), .. } if !url.is_empty() => Some(url.clone()),
            Self::Oidc { issuer, .. } => {
                Some(format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')))
            }
        }
    }

    /// The scopes as this protocol wants them: with `openid` in front where OpenID Connect lacks it.
    pub fn with_openid(&self, mut scopes: Vec<String>) -> Vec<String> {
        if matches!(self, Self::Oidc { .. }) && !scopes.iter().any(|scope| scope == OPENID) {
            scopes.insert(0, OPENID.to_owned());
        }
        scopes
    }
}
