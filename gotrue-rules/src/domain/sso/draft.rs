//! A new provider: what must be said of it, and whether its names are free.

use uuid::Uuid;

use super::{NAME_ID_FORMATS, SamlProvider, SsoProvider};
use crate::domain::error::{Error, Result};
use crate::domain::user::Time;
use crate::wire::requests::AdminSsoProvider;

/// Checks what does not depend on what is stored, in the recorded order; all 400 `validation_failed`.
pub fn check(body: &AdminSsoProvider) -> Result<()> {
    if body.kind != "saml" {
        return Err(Error::invalid("Only 'saml' supported for SSO provider type"));
    }
    check_sources(body)?;
    if body.metadata_url.is_empty() && body.metadata_xml.is_empty() {
        return Err(Error::invalid("Either metadata_xml or metadata_url must be set"));
    }
    check_forms(body)
}

/// Metadata comes from one place.
pub(super) fn check_sources(body: &AdminSsoProvider) -> Result<()> {
    if body.metadata_url.is_empty() || body.metadata_xml.is_empty() {
        return Ok(());
    }
    Err(Error::invalid("Only one of metadata_xml or metadata_url needs to be set"))
}

/// The forms of address and `NameID`.
pub(super) fn check_forms(body: &AdminSsoProvider) -> Result<()> {
    check_address(&body.metadata_url)?;
    if body.name_id_format.is_empty() || NAME_ID_FORMATS.contains(&body.name_id_format.as_str()) {
        return Ok(());
    }
    let formats = NAME_ID_FORMATS.join(", ");
    Err(Error::invalid(format!("name_id_format must be unspecified or one of {formats}")))
}

fn check_address(text: &str) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    // A path alone is a URL to the reference, of no scheme.
    let scheme = match url::Url::parse(text) {
        Ok(url) => url.scheme().to_owned(),
        Err(_) if text.starts_with('/') => String::new(),
        Err(_) => return Err(Error::invalid("metadata_url is not a valid URL")),
    };
    if scheme == "https" { Ok(()) } else { Err(Error::invalid("metadata_url is not a HTTPS URL")) }
}

/// Who has a name that is given once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Whether the name is an entity id; a domain otherwise.
    pub is_entity: bool,
    /// The name.
    pub name: String,
    /// The provider.
    pub provider: Uuid,
}

/// Whoever has that domain.
pub(super) fn holder_of<'h>(holders: &'h [Holder], domain: &str) -> Option<&'h Holder> {
    holders.iter().find(|holder| !holder.is_entity && holder.name == domain)
}

/// Refuses names that another provider has: the entity id 422 `saml_idp_already_exists`, the first domain 400
/// `sso_domain_already_exists`.
pub fn require_free(entity_id: &str, domains: &[String], holders: &[Holder]) -> Result<()> {
    if holders.iter().any(|holder| holder.is_entity) {
        return Err(entity_taken(entity_id));
    }
    match domains.iter().find_map(|domain| holder_of(holders, domain)) {
        None => Ok(()),
        Some(Holder { name, provider, .. }) => Err(Error::bad_request(
            "sso_domain_already_exists",
            format!("SSO Domain '{name}' is already assigned to an SSO identity provider ({provider})"),
        )),
    }
}

/// 422: there is a provider of that entity.
pub fn entity_taken(entity_id: &str) -> Error {
    let message = format!("SAML Identity Provider with this EntityID ({entity_id}) already exists");
    Error::unprocessable("saml_idp_already_exists", message)
}

/// What a provider says of itself, as far as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Described {
    /// Its name among SAML services.
    pub entity_id: String,
    /// The description, word for word.
    pub xml: String,
}

/// The provider that is asked for.
pub fn provider(id: Uuid, body: AdminSsoProvider, described: Described, now: Time) -> SsoProvider {
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
    fn what_is_wrong_is_told_in_the_recorded_order() {
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
            assert_eq!(check(&given).unwrap_err().message(), message);
        }
        let format = check(&body("saml", https, "", "email")).unwrap_err();
        assert!(format.message().starts_with("name_id_format must be unspecified or one of urn:oasis"), "{format}");
        assert!(check(&body("saml", https, "", "")).is_ok());
        for format in NAME_ID_FORMATS {
            assert!(check(&body("saml", "", "<x/>", format)).is_ok());
        }
    }

    #[test]
    fn the_entity_is_missed_before_the_first_domain() {
        let holder = |is_entity, name: &str| Holder { is_entity, name: name.into(), provider: Uuid::nil() };
        let domains = ["a".to_owned(), "b".to_owned()];
        let refused = |holders: &[Holder]| require_free("e", &domains, holders).map_err(|error| error.to_string());
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
