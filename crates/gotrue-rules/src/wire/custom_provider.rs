//! Custom providers as JSON, without the client secret.

use foundation::time::Time;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::time;
use crate::domain::custom_provider::{CustomProvider, Protocol, StoredDiscovery};

/// The response of `/admin/custom-providers`.
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

/// The members of the protocol. Absent ones are omitted.
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
        discovery_document: Option<&'a StoredDiscovery>,
    },
}

impl<'a> From<&'a CustomProvider> for CustomProviderJson<'a> {
    fn from(provider: &'a CustomProvider) -> Self {
        Self {
            id: provider.id,
            provider_type: provider.protocol.as_str(),
            identifier: &provider.identifier,
            name: &provider.name,
            client_id: &provider.client_id,
            acceptable_client_ids: &provider.acceptable_client_ids,
            scopes: &provider.scopes,
            pkce_enabled: provider.pkce_enabled,
            attribute_mapping: &provider.attribute_mapping,
            custom_claims_allowlist: &provider.custom_claims_allowlist,
            authorization_params: &provider.authorization_params,
            enabled: provider.enabled,
            email_optional: provider.email_optional,
            skip_nonce_check: provider.skip_nonce_check,
            protocol: ProtocolJson::from(&provider.protocol),
            created_at: provider.created_at,
            updated_at: provider.updated_at,
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

/// The list of custom providers.
#[derive(Debug, Serialize)]
pub struct CustomProvidersJson<'a> {
    providers: Vec<CustomProviderJson<'a>>,
}

impl<'a> From<&'a [CustomProvider]> for CustomProvidersJson<'a> {
    fn from(all: &'a [CustomProvider]) -> Self {
        Self { providers: all.iter().map(CustomProviderJson::from).collect() }
    }
}
