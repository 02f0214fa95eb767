//! Single sign-on: SAML identity providers that an administrator configures.

pub mod change;
pub mod creation;
pub mod mapping;
pub mod metadata;
pub mod start;

use foundation::error::{Error, ErrorCode};
use foundation::time::Time;
use uuid::Uuid;

use crate::wire::uuid::parse_uuid;
use mapping::AttributeMapping;

/// The format of a `NameID` that is persistent per service provider.
pub const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
/// The format of a `NameID` that is an email address.
pub const EMAIL_ADDRESS: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
/// The format of a `NameID` that is valid for one session.
pub const TRANSIENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
/// The format of an unspecified `NameID`.
pub const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";
/// The formats that may be requested, in the order of the error message.
pub const NAME_ID_FORMATS: [&str; 4] = [PERSISTENT, EMAIL_ADDRESS, TRANSIENT, UNSPECIFIED];

/// A configured SSO provider.
#[derive(Debug, Clone, PartialEq)]
pub struct SsoProvider {
    /// `id`; identities of its users have the provider `sso:<id>`.
    pub id: Uuid,
    /// `resource_id`: an id chosen by the administrator, unique ignoring letter case.
    pub resource_id: Option<String>,
    /// `disabled`; `None` counts as false.
    pub disabled: Option<bool>,
    /// The email domains of its users, as configured, oldest first.
    pub domains: Vec<String>,
    /// The SAML settings.
    pub saml: SamlProvider,
    pub created_at: Time,
    pub updated_at: Time,
}

/// The SAML settings of an SSO provider.
#[derive(Debug, Clone, PartialEq)]
pub struct SamlProvider {
    /// `entity_id`, unique.
    pub entity_id: String,
    /// `metadata_xml`, unchanged.
    pub metadata_xml: String,
    /// `metadata_url`: the URL to fetch the metadata from.
    pub metadata_url: Option<String>,
    /// `attribute_mapping`: maps assertion attributes to claims.
    pub attribute_mapping: AttributeMapping,
    /// `name_id_format`: requested instead of [`PERSISTENT`].
    pub name_id_format: Option<String>,
    /// `updated_at`: when the metadata was stored.
    pub updated_at: Time,
}

impl SsoProvider {
    /// Whether users may sign in with it.
    pub fn is_enabled(&self) -> bool {
        self.disabled != Some(true)
    }

    /// The provider name of its users' identities.
    pub fn identity_provider_name(&self) -> String {
        format!("sso:{}", self.id)
    }
}

/// A provider reference in the path of an admin endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SsoProviderRef {
    Id(Uuid),
    ResourceId(String),
}

impl SsoProviderRef {
    /// Parses `resource_<resource id>` or a UUID in any spelling.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("resource_") {
            Some(id) => Some(Self::ResourceId(id.to_owned())),
            None => parse_uuid(text).map(Self::Id),
        }
    }
}

/// 404: the path names no provider.
pub fn provider_not_found() -> Error {
    Error::new(ErrorCode::SsoProviderNotFound, "SSO Identity Provider not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_ref_is_id_or_resource_id() {
        let id = Uuid::from_u128(7);
        for (text, expected) in [
            (id.to_string(), Some(SsoProviderRef::Id(id))),
            (id.simple().to_string(), Some(SsoProviderRef::Id(id))),
            ("resource_acme".to_owned(), Some(SsoProviderRef::ResourceId("acme".into()))),
            ("resource_".to_owned(), Some(SsoProviderRef::ResourceId(String::new()))),
            ("acme".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(SsoProviderRef::parse(&text), expected, "{text}");
        }
    }
}
