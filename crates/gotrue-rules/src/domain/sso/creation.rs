//! Validates and builds a new SSO provider.

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use uuid::Uuid;

use super::{NAME_ID_FORMATS, SamlProvider, SsoProvider};
use crate::wire::requests::AdminSsoProvider;

/// Validates the body independently of stored data, in the reference's order.
///
/// # Errors
/// 400 `validation_failed`.
pub fn validate_body(body: &AdminSsoProvider) -> Result<()> {
    if body.kind != "saml" {
        return Err(Error::invalid("Only 'saml' supported for SSO provider type"));
    }
    validate_metadata_source(body)?;
    if body.metadata_url.is_empty() && body.metadata_xml.is_empty() {
        return Err(Error::invalid("Either metadata_xml or metadata_url must be set"));
    }
    validate_formats(body)
}

/// Requires at most one of `metadata_xml` and `metadata_url`.
pub(super) fn validate_metadata_source(body: &AdminSsoProvider) -> Result<()> {
    if body.metadata_url.is_empty() || body.metadata_xml.is_empty() {
        return Ok(());
    }
    Err(Error::invalid("Only one of metadata_xml or metadata_url needs to be set"))
}

/// Validates `metadata_url` and `name_id_format`.
pub(super) fn validate_formats(body: &AdminSsoProvider) -> Result<()> {
    validate_metadata_url(&body.metadata_url)?;
    if body.name_id_format.is_empty() || NAME_ID_FORMATS.contains(&body.name_id_format.as_str()) {
        return Ok(());
    }
    let formats = NAME_ID_FORMATS.join(", ");
    Err(Error::invalid(format!("name_id_format must be unspecified or one of {formats}")))
}

/// 400: `metadata_url` cannot be parsed.
pub fn invalid_metadata_url() -> Error {
    Error::invalid("metadata_url is not a valid URL")
}

fn validate_metadata_url(text: &str) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    // The reference parses a bare path as a URL without a scheme.
    let scheme = match url::Url::parse(text) {
        Ok(url) => url.scheme().to_owned(),
        Err(_) if text.starts_with('/') => String::new(),
        Err(_) => return Err(invalid_metadata_url()),
    };
    if scheme == "https" { Ok(()) } else { Err(Error::invalid("metadata_url is not a HTTPS URL")) }
}

/// A provider that owns a unique name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameOwner {
    /// Whether the name is an entity id; otherwise it is a domain.
    pub is_entity: bool,
    pub name: String,
    /// The provider's id.
    pub provider: Uuid,
}

pub(super) fn find_domain_owner<'h>(holders: &'h [NameOwner], domain: &str) -> Option<&'h NameOwner> {
    holders.iter().find(|holder| !holder.is_entity && holder.name == domain)
}

/// Requires the entity id (422 `saml_idp_already_exists`) and the domains to be unassigned.
/// The first assigned domain is 400 `sso_domain_already_exists`.
pub fn require_unassigned(entity_id: &str, domains: &[String], holders: &[NameOwner]) -> Result<()> {
    if holders.iter().any(|holder| holder.is_entity) {
        return Err(entity_already_exists(entity_id));
    }
    match domains.iter().find_map(|domain| find_domain_owner(holders, domain)) {
        None => Ok(()),
        Some(NameOwner { name, provider, .. }) => Err(Error::new(
            ErrorCode::SsoDomainAlreadyExists,
            format!("SSO Domain '{name}' is already assigned to an SSO identity provider ({provider})"),
        )),
    }
}

/// 422: a provider with this entity id exists.
pub fn entity_already_exists(entity_id: &str) -> Error {
    let message = format!("SAML Identity Provider with this EntityID ({entity_id}) already exists");
    Error::new(ErrorCode::SamlIdpAlreadyExists, message)
}

/// The stored part of an identity provider's metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityMetadata {
    pub entity_id: String,
    /// The metadata XML, unchanged.
    pub xml: String,
}

/// Combines an administrator's request with what the metadata describes.
pub fn build_provider(id: Uuid, body: AdminSsoProvider, described: EntityMetadata, now: Time) -> SsoProvider {
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    SsoProvider {
        id,
        resource_id: body.resource_id,
        disabled: body.disabled,
        domains: body.domains.unwrap_or_default(),
        saml: SamlProvider {
            entity_id: described.entity_id,
            metadata_xml: described.xml,
            metadata_url: given(body.metadata_url),
            attribute_mapping: body.attribute_mapping,
            name_id_format: given(body.name_id_format),
            updated_at: now,
        },
        created_at: now,
        updated_at: now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(kind: &str, url: &str, xml: &str, format: &str) -> AdminSsoProvider {
        let [kind, metadata_url, metadata_xml, name_id_format] = [kind, url, xml, format].map(str::to_owned);
        AdminSsoProvider { kind, metadata_url, metadata_xml, name_id_format, ..AdminSsoProvider::default() }
    }

    #[test]
    fn errors_are_reported_in_reference_order() {
        let https = "https://idp.example.com/metadata";
        for (given, message) in [
            (body("", "", "", "email"), "Only 'saml' supported for SSO provider type"),
            (body("oidc", "x", "x", ""), "Only 'saml' supported for SSO provider type"),
            (body("saml", "x", "<x/>", "email"), "Only one of metadata_xml or metadata_url needs to be set"),
            (body("saml", "", "", "email"), "Either metadata_xml or metadata_url must be set"),
            (body("saml", "idp.example.com", "", "email"), "metadata_url is not a valid URL"),
            (body("saml", "http://idp.example.com", "", ""), "metadata_url is not a HTTPS URL"),
            (body("saml", "/metadata", "", ""), "metadata_url is not a HTTPS URL"),
            (body("saml", "file:///etc/passwd", "", ""), "metadata_url is not a HTTPS URL"),
        ] {
            assert_eq!(validate_body(&given).unwrap_err().message(), message);
        }
        let format = validate_body(&body("saml", https, "", "email")).unwrap_err();
        assert!(format.message().starts_with("name_id_format must be unspecified or one of urn:oasis"), "{format}");
        assert!(validate_body(&body("saml", https, "", "")).is_ok());
        for format in NAME_ID_FORMATS {
            assert!(validate_body(&body("saml", "", "<x/>", format)).is_ok());
        }
    }

    #[test]
    fn entity_conflict_precedes_domain_conflict() {
        let holder = |is_entity, name: &str| NameOwner { is_entity, name: name.into(), provider: Uuid::nil() };
        let domains = ["a".to_owned(), "b".to_owned()];
        let refused =
            |holders: &[NameOwner]| require_unassigned("e", &domains, holders).map_err(|error| error.to_string());
        assert_eq!(refused(&[]), Ok(()));
        let both = refused(&[holder(false, "a"), holder(true, "e")]).unwrap_err();
        assert_eq!(both, "422: SAML Identity Provider with this EntityID (e) already exists");
        let first = refused(&[holder(false, "b"), holder(false, "a")]).unwrap_err();
        assert_eq!(
            first,
            "400: SSO Domain 'a' is already assigned to an SSO identity provider (00000000-0000-0000-0000-000000000000)"
        );
    }
}
