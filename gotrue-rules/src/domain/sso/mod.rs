//! Single sign-on: the companies whose people come through their own identity provider, as the administrator keeps them.

pub mod change;
pub mod draft;
pub mod mapping;
pub mod metadata;
pub mod start;

use uuid::Uuid;

use super::error::Error;
use super::user::Time;
use mapping::AttributeMapping;

/// `NameID`s that stay the same for one service.
pub const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
/// `NameID`s that are addresses.
pub const EMAIL_ADDRESS: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
/// `NameID`s that are good for one session.
pub const TRANSIENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
/// `NameID`s of which nothing is said.
pub const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";
/// Those that an administrator may ask for, in the order in which a refusal names them.
pub const NAME_ID_FORMATS: [&str; 4] = [PERSISTENT, EMAIL_ADDRESS, TRANSIENT, UNSPECIFIED];

/// A company's identity provider with all that is kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SsoProvider {
    /// `id`; the provider of its people's identities is `sso:<id>`.
    pub id: Uuid,
    /// `resource_id`: the administrator's own name for it, unique in any letter case.
    pub resource_id: Option<String>,
    /// `disabled`; what was never said counts as false.
    pub disabled: Option<bool>,
    /// The domains whose people it signs in, as they were written, oldest first.
    pub domains: Vec<String>,
    /// How it is reached.
    pub saml: SamlProvider,
    /// `created_at`.
    pub created_at: Time,
    /// `updated_at`.
    pub updated_at: Time,
}

/// What is kept of a SAML 2.0 identity provider.
#[derive(Debug, Clone, PartialEq)]
pub struct SamlProvider {
    /// `entity_id`: its name among SAML services, unique.
    pub entity_id: String,
    /// `metadata_xml`: its own description, word for word.
    pub metadata_xml: String,
    /// `metadata_url`: where the description can be fetched anew.
    pub metadata_url: Option<String>,
    /// `attribute_mapping`: what becomes of an assertion's attributes.
    pub attribute_mapping: AttributeMapping,
    /// `name_id_format`: asked for in the place of [`PERSISTENT`].
    pub name_id_format: Option<String>,
    /// `updated_at`: when the description was stored.
    pub updated_at: Time,
}

impl SsoProvider {
    /// Whether its people may sign in.
    pub fn is_enabled(&self) -> bool {
        self.disabled != Some(true)
    }

    /// The provider of its people's identities.
    pub fn identity_provider(&self) -> String {
        format!("sso:{}", self.id)
    }
}

/// How an administrator's path names a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// By its `id`.
    Id(Uuid),
    /// By its `resource_id`.
    ResourceId(String),
}

impl Name {
    /// `resource_<resource id>`, else a UUID in any of its spellings; none for anything else.
    pub fn read(text: &str) -> Option<Self> {
        match text.strip_prefix("resource_") {
            Some(id) => Some(Self::ResourceId(id.to_owned())),
            None => Uuid::parse_str(text).ok().map(Self::Id),
        }
    }
}

/// 404: the administrator's path names no provider.
pub fn not_found() -> Error {
    Error::not_found("sso_provider_not_found", "SSO Identity Provider not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_provider_by_id_or_by_resource_id() {
        let id = Uuid::from_u128(7);
        for (text, expected) in [
            (id.to_string(), Some(Name::Id(id))),
            (id.simple().to_string(), Some(Name::Id(id))),
            ("resource_acme".to_owned(), Some(Name::ResourceId("acme".into()))),
            ("resource_".to_owned(), Some(Name::ResourceId(String::new()))),
            ("acme".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(Name::read(&text), expected, "{text}");
        }
    }
}
