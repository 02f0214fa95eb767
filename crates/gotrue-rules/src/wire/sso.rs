//! SSO providers as JSON.

use foundation::time::Time;
use serde::Serialize;
use uuid::Uuid;

use super::time;
use crate::domain::sso::mapping::AttributeMapping;
use crate::domain::sso::{SamlProvider, SsoProvider};

/// An SSO provider, for administrators.
#[derive(Debug, Serialize)]
pub struct SsoProviderJson<'a> {
    id: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_id: Option<&'a str>,
    disabled: Option<bool>,
    saml: SamlJson<'a>,
    domains: Vec<DomainJson<'a>>,
    #[serde(serialize_with = "time::serialize")]
    created_at: Time,
    #[serde(serialize_with = "time::serialize")]
    updated_at: Time,
}

#[derive(Debug, Serialize)]
struct SamlJson<'a> {
    entity_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    metadata_xml: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata_url: Option<&'a str>,
    attribute_mapping: &'a AttributeMapping,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_id_format: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct DomainJson<'a> {
    domain: &'a str,
}

impl<'a> From<&'a SamlProvider> for SamlJson<'a> {
    fn from(saml: &'a SamlProvider) -> Self {
        Self {
            entity_id: &saml.entity_id,
            metadata_xml: &saml.metadata_xml,
            metadata_url: saml.metadata_url.as_deref(),
            attribute_mapping: &saml.attribute_mapping,
            name_id_format: saml.name_id_format.as_deref(),
        }
    }
}

impl<'a> From<&'a SsoProvider> for SsoProviderJson<'a> {
    fn from(provider: &'a SsoProvider) -> Self {
        Self {
            id: provider.id,
            resource_id: provider.resource_id.as_deref(),
            disabled: provider.disabled,
            saml: SamlJson::from(&provider.saml),
            domains: provider.domains.iter().map(|domain| DomainJson { domain }).collect(),
            created_at: provider.created_at,
            updated_at: provider.updated_at,
        }
    }
}

/// The list of SSO providers, without their metadata XML.
#[derive(Debug, Serialize)]
pub struct SsoProvidersJson<'a> {
    items: Vec<SsoProviderJson<'a>>,
}

impl<'a> From<&'a [SsoProvider]> for SsoProvidersJson<'a> {
    fn from(providers: &'a [SsoProvider]) -> Self {
        let short = |provider: &'a SsoProvider| {
            let mut shown = SsoProviderJson::from(provider);
            shown.saml.metadata_xml = "";
            shown
        };
        Self { items: providers.iter().map(short).collect() }
    }
}

/// The URL of the identity provider, for a client that redirects the browser itself.
#[derive(Debug, Serialize)]
pub struct SignOnUrlJson<'a> {
    pub url: &'a str,
}
