//! Stored providers as JSON (`endpoints.md` §13.7). The secret is never in it.

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::time;
use crate::domain::custom_provider::{CustomProvider, Discovered, Protocol};
use crate::domain::user::Time;

/// A provider.
#[derive(Debug, Serialize)]
pub struct CustomProviderJson<'a> {
    id: Uuid,
    provider_type: &'static str,
    identifier: &'a str,
    name: &'a str,
    client_id: &'a str,
    acceptable_client_ids: &'a [String],
    scopes: &'a [String],
    pkce_enabled: bool,
    attribute_mapping: &'a Map<String, Value>,
    custom_claims_allowlist: &'a [String],
    authorization_params: &'a Map<String, Value>,
    enabled: bool,
    email_optional: bool,
    skip_nonce_check: bool,
    #[serde(flatten)]
    protocol: ProtocolJson<'a>,
    #[serde(serialize_with = "time::serialize")]
    created_at: Time,
    #[serde(serialize_with = "time::serialize")]
    updated_at: Time,
}

/// What is absent is left out.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ProtocolJson<'a> {
    OAuth2 {
        authorization_url: &'a str,
        token_url: &'a str,
        userinfo_url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        jwks_uri: Option<&'a str>,
    },
    Oidc {
        issuer: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        discovery_url: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        discovery_document: Option<&'a Discovered>,
    },
}

impl<'a> From<&'a CustomProvider> for CustomProviderJson<'a> {
    fn from(of: &'a CustomProvider) -> Self {
        Self {
            id: of.id,
            provider_type: of.protocol.word(),
            identifier: &of.identifier,
            name: &of.name,
            client_id: &of.client_id,
            acceptable_client_ids: &of.acceptable_client_ids,
            scopes: &of.scopes,
            pkce_enabled: of.pkce_enabled,
            attribute_mapping: &of.attribute_mapping,
            custom_claims_allowlist: &of.custom_claims_allowlist,
            authorization_params: &of.authorization_params,
            enabled: of.enabled,
            email_optional: of.email_optional,
            skip_nonce_check: of.skip_nonce_check,
            protocol: ProtocolJson::from(&of.protocol),
            created_at: of.created_at,
            updated_at: of.updated_at,
        }
    }
}

impl<'a> From<&'a Protocol> for ProtocolJson<'a> {
    fn from(protocol: &'a Protocol) -> Self {
        match protocol {
            Protocol::OAuth2 { authorization_url, token_url, userinfo_url, jwks_uri } => {
                Self::OAuth2 { authorization_url, token_url, userinfo_url, jwks_uri: jwks_uri.as_deref() }
            }
            Protocol::Oidc { issuer, discovery_url, discovered } => Self::Oidc {
                issuer,
                discovery_url: discovery_url.as_deref(),
                discovery_document: discovered.as_deref(),
            },
        }
    }
}

/// All providers.
#[derive(Debug, Serialize)]
pub struct CustomProvidersJson<'a> {
    providers: Vec<CustomProviderJson<'a>>,
}

impl<'a> From<&'a [CustomProvider]> for CustomProvidersJson<'a> {
    fn from(all: &'a [CustomProvider]) -> Self {
        Self { providers: all.iter().map(CustomProviderJson::from).collect() }
    }
}
