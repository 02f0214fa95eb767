//! Updates an SSO provider with the body of a `PUT`.

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;

use super::SsoProvider;
use super::creation::{EntityMetadata, NameOwner, find_domain_owner, validate_formats, validate_metadata_source};
use crate::wire::requests::AdminSsoProvider;

/// Validates the body independently of stored data; all errors are 400 `validation_failed`.
pub fn validate_body(body: &AdminSsoProvider) -> Result<()> {
    validate_metadata_source(body)?;
    validate_formats(body)
}

/// The changes to write.
#[derive(Debug, Clone, PartialEq)]
pub struct SsoProviderChange {
    /// The provider after the update.
    pub after: SsoProvider,
    /// Whether the SAML columns are written.
    pub writes_saml: bool,
    pub removed_domains: Vec<String>,
    pub added_domains: Vec<String>,
}

/// Requires metadata of the same entity: 400 `saml_entity_id_mismatch`.
pub fn require_same_entity(provider: &SsoProvider, described: &EntityMetadata) -> Result<()> {
    let (expected, got) = (&provider.saml.entity_id, &described.entity_id);
    if expected == got {
        return Ok(());
    }
    let message = format!(
        "SAML Metadata can be updated only if the EntityID matches for the provider; expected '{expected}' but got '{got}'"
    );
    Err(Error::new(ErrorCode::SamlEntityIdMismatch, message))
}

/// Applies an update; `None` if nothing changes.
///
/// As in the reference, a different `NameID` format counts as a change but is only stored together with other SAML
/// changes; if it is then absent, it is cleared.
///
/// # Errors
/// 400 `sso_domain_already_exists` for a domain of another provider.
pub fn apply_update(
    provider: &SsoProvider,
    body: &AdminSsoProvider,
    described: Option<EntityMetadata>,
    holders: &[NameOwner],
    now: Time,
) -> Result<Option<SsoProviderChange>> {
    let (gone, new) = diff_domains(provider, body, holders)?;
    let mut after = provider.clone();
    let mapping = &body.attribute_mapping;
    let mapped = mapping.keys.is_some() && !mapping.is_equivalent(&provider.saml.attribute_mapping);
    let saml = described.is_some() || mapped;
    if let Some(described) = described {
        after.saml.metadata_xml = described.xml;
        after.saml.metadata_url = non_empty(&body.metadata_url).or(after.saml.metadata_url);
    }
    if mapped {
        after.saml.attribute_mapping = mapping.clone();
    }
    let renamed = non_empty(&body.name_id_format) != provider.saml.name_id_format;
    if saml {
        after.saml.name_id_format = non_empty(&body.name_id_format);
        after.saml.updated_at = now;
    }
    if let Some(resource_id) = &body.resource_id {
        after.resource_id = non_empty(resource_id);
    }
    after.disabled = body.disabled.or(provider.disabled);
    after.domains.retain(|domain| !gone.contains(domain));
    after.domains.extend(new.iter().cloned());
    if after == *provider && !renamed && !saml {
        return Ok(None);
    }
    after.updated_at = now;
    Ok(Some(SsoProviderChange { after, writes_saml: saml, removed_domains: gone, added_domains: new }))
}

/// The removed and the added domains; both empty if the body names none.
fn diff_domains(
    provider: &SsoProvider,
    body: &AdminSsoProvider,
    holders: &[NameOwner],
) -> Result<(Vec<String>, Vec<String>)> {
    let Some(requested) = &body.domains else { return Ok((Vec::new(), Vec::new())) };
    let mut new = Vec::new();
    for domain in requested {
        match find_domain_owner(holders, domain) {
            None => new.push(domain.clone()),
            Some(holder) if holder.provider == provider.id => {}
            Some(NameOwner { provider, .. }) => {
                let message = format!("SSO domain '{domain}' already assigned to another provider ({provider})");
                return Err(Error::new(ErrorCode::SsoDomainAlreadyExists, message));
            }
        }
    }
    let gone = provider.domains.iter().filter(|domain| !requested.contains(domain)).cloned().collect();
    Ok((gone, new))
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// 422: a database constraint prevents the update.
pub fn conflict() -> Error {
    Error::http(422, ErrorCode::Conflict, "Updating SSO provider failed, likely due to a conflict. Try again?")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::super::creation;
    use super::super::{EMAIL_ADDRESS, PERSISTENT};
    use super::*;

    fn body(value: &Value) -> AdminSsoProvider {
        AdminSsoProvider::decode(value.to_string().as_bytes()).unwrap()
    }

    fn provider() -> SsoProvider {
        let body = body(&json!({
            "domains": ["a", "b"], "name_id_format": EMAIL_ADDRESS, "metadata_url": "https://idp.example.com/old",
            "attribute_mapping": {"keys": {"name": {"name": "cn"}}}, "resource_id": "acme",
        }));
        creation::build_provider(Uuid::from_u128(1), body, described("<old/>"), Time::UNIX_EPOCH)
    }

    fn described(xml: &str) -> EntityMetadata {
        EntityMetadata { entity_id: "e".into(), xml: xml.into() }
    }

    fn domain_owner(name: &str, provider: u128) -> NameOwner {
        NameOwner { is_entity: false, name: name.into(), provider: Uuid::from_u128(provider) }
    }

    fn update_with(requested: &Value, xml: Option<&str>) -> Option<SsoProviderChange> {
        let later = Time::UNIX_EPOCH + chrono::TimeDelta::hours(1);
        let holders = [domain_owner("a", 1), domain_owner("b", 1)];
        apply_update(&provider(), &body(requested), xml.map(described), &holders, later).unwrap()
    }

    #[test]
    fn unchanged_body_changes_nothing() {
        for requested in [
            json!({"name_id_format": EMAIL_ADDRESS}),
            json!({"name_id_format": EMAIL_ADDRESS, "domains": ["b", "a"], "resource_id": "acme"}),
            json!({"name_id_format": EMAIL_ADDRESS, "attribute_mapping": {"keys": {"name": {"name": "cn"}}}}),
            json!({"name_id_format": EMAIL_ADDRESS, "attribute_mapping": {}, "disabled": null}),
        ] {
            assert_eq!(update_with(&requested, None), None, "{requested}");
        }
    }

    #[test]
    fn domains_change_only_if_present_in_body() {
        let change = update_with(&json!({"domains": ["b", "c"]}), None).unwrap();
        assert_eq!(
            (change.removed_domains, change.added_domains, change.after.domains),
            (vec!["a".into()], vec!["c".into()], vec!["b".into(), "c".into()])
        );
        let none = update_with(&json!({"domains": []}), None).unwrap();
        assert_eq!((none.removed_domains.len(), none.after.domains.len()), (2, 0));
        assert_eq!(update_with(&json!({"disabled": true}), None).unwrap().after.domains, ["a", "b"]);
        let taken = body(&json!({"domains": ["b", "x"]}));
        let refused = update_with_owners(&taken, &[domain_owner("b", 1), domain_owner("x", 2)]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "400: SSO domain 'x' already assigned to another provider (00000000-0000-0000-0000-000000000002)"
        );
    }

    fn update_with_owners(body: &AdminSsoProvider, holders: &[NameOwner]) -> Result<Option<SsoProviderChange>> {
        apply_update(&provider(), body, None, holders, Time::UNIX_EPOCH)
    }

    #[test]
    fn name_id_format_is_stored_only_with_other_saml_changes() {
        let format = |requested: Value, xml| {
            let change = update_with(&requested, xml).unwrap();
            (change.writes_saml, change.after.saml.name_id_format)
        };
        let old = Some(EMAIL_ADDRESS.to_owned());
        assert_eq!(format(json!({}), None), (false, old.clone()));
        assert_eq!(format(json!({"name_id_format": PERSISTENT}), None), (false, old.clone()));
        assert_eq!(format(json!({"domains": []}), None), (false, old));
        assert_eq!(format(json!({}), Some("<new/>")), (true, None));
        let both = json!({"name_id_format": PERSISTENT, "attribute_mapping": {"keys": {}}});
        assert_eq!(format(both, None), (true, Some(PERSISTENT.into())));
    }

    #[test]
    fn metadata_must_be_of_same_entity_and_keeps_url() {
        let change = update_with(&json!({}), Some("<new/>")).unwrap();
        assert_eq!(change.after.saml.metadata_xml, "<new/>");
        assert_eq!(change.after.saml.metadata_url.as_deref(), Some("https://idp.example.com/old"));
        let moved = update_with(&json!({"metadata_url": "https://idp.example.com/new"}), Some("<new/>")).unwrap();
        assert_eq!(moved.after.saml.metadata_url.as_deref(), Some("https://idp.example.com/new"));
        let other = EntityMetadata { entity_id: "x".into(), xml: String::new() };
        let refused = require_same_entity(&provider(), &other).unwrap_err();
        assert_eq!((refused.status(), refused.code().as_str()), (400, "saml_entity_id_mismatch"));
        assert!(refused.message().ends_with("expected 'e' but got 'x'"));
    }

    #[test]
    fn empty_resource_id_clears_it() {
        assert_eq!(update_with(&json!({"resource_id": ""}), None).unwrap().after.resource_id, None);
        assert_eq!(
            update_with(&json!({"resource_id": "uno"}), None).unwrap().after.resource_id.as_deref(),
            Some("uno")
        );
        assert_eq!(update_with(&json!({"disabled": false}), None).unwrap().after.disabled, Some(false));
    }
}
