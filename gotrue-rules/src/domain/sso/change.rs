//! A provider that is changed: what a `PUT` says of it against what is stored.

use super::SsoProvider;
use super::draft::{Described, Holder, check_forms, check_sources, holder_of};
use crate::domain::error::{Error, Result};
use crate::domain::user::Time;
use crate::wire::requests::AdminSsoProvider;

/// Checks what does not depend on what is stored; all 400 `validation_failed`.
pub fn check(body: &AdminSsoProvider) -> Result<()> {
    check_sources(body)?;
    check_forms(body)
}

/// What there is to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The provider as it will be.
    pub after: SsoProvider,
    /// Whether what is kept of SAML is written.
    pub saml: bool,
    /// Domains that it loses.
    pub gone: Vec<String>,
    /// Domains that it gets.
    pub new: Vec<String>,
}

/// Refuses a description of somebody else: 400 `saml_entity_id_mismatch`.
pub fn require_same_entity(provider: &SsoProvider, described: &Described) -> Result<()> {
    let (expected, got) = (&provider.saml.entity_id, &described.entity_id);
    if expected == got {
        return Ok(());
    }
    let message = format!(
        "SAML Metadata can be updated only if the EntityID matches for the provider; expected '{expected}' but got '{got}'"
    );
    Err(Error::bad_request("saml_entity_id_mismatch", message))
}

/// What becomes of the provider; none if nothing changes. 400 `sso_domain_already_exists` for another's domain.
///
/// As recorded a `NameID` format counts as a change, but is stored only beside other changes of what is kept of SAML;
/// left out it is then cleared.
pub fn change(
    provider: &SsoProvider,
    body: &AdminSsoProvider,
    described: Option<Described>,
    holders: &[Holder],
    now: Time,
) -> Result<Option<Change>> {
    let (gone, new) = domains(provider, body, holders)?;
    let mut after = provider.clone();
    let mapping = &body.attribute_mapping;
    let mapped = mapping.keys.is_some() && !mapping.says_the_same(&provider.saml.attribute_mapping);
    let saml = described.is_some() || mapped;
    if let Some(described) = described {
        after.saml.metadata_xml = described.xml;
        after.saml.metadata_url = given(&body.metadata_url).or(after.saml.metadata_url);
    }
    if mapped {
        after.saml.attribute_mapping = mapping.clone();
    }
    let renamed = given(&body.name_id_format) != provider.saml.name_id_format;
    if saml {
        after.saml.name_id_format = given(&body.name_id_format);
        after.saml.updated_at = now;
    }
    if let Some(resource_id) = &body.resource_id {
        after.resource_id = given(resource_id);
    }
    after.disabled = body.disabled.or(provider.disabled);
    after.domains.retain(|domain| !gone.contains(domain));
    after.domains.extend(new.iter().cloned());
    if after == *provider && !renamed && !saml {
        return Ok(None);
    }
    after.updated_at = now;
    Ok(Some(Change { after, saml, gone, new }))
}

/// The domains that go and those that come; neither where the body names none.
fn domains(provider: &SsoProvider, body: &AdminSsoProvider, holders: &[Holder]) -> Result<(Vec<String>, Vec<String>)> {
    let Some(asked) = &body.domains else { return Ok((Vec::new(), Vec::new())) };
    let mut new = Vec::new();
    for domain in asked {
        match holder_of(holders, domain) {
            None => new.push(domain.clone()),
            Some(holder) if holder.provider == provider.id => {}
            Some(Holder { provider, .. }) => {
                let message = format!("SSO domain '{domain}' already assigned to another provider ({provider})");
                return Err(Error::bad_request("sso_domain_already_exists", message));
            }
        }
    }
    let gone = provider.domains.iter().filter(|domain| !asked.contains(domain)).cloned().collect();
    Ok((gone, new))
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// 422: what is stored does not let the provider be changed so.
pub fn conflict() -> Error {
    Error::unprocessable("conflict", "Updating SSO provider failed, likely due to a conflict. Try again?")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::super::draft;
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
        draft::provider(Uuid::from_u128(1), body, described("<old/>"), Time::UNIX_EPOCH)
    }

    fn described(xml: &str) -> Described {
        Described { entity_id: "e".into(), xml: xml.into() }
    }

    fn held(name: &str, provider: u128) -> Holder {
        Holder { is_entity: false, name: name.into(), provider: Uuid::from_u128(provider) }
    }

    fn changed(asked: &Value, xml: Option<&str>) -> Option<Change> {
        let later = Time::UNIX_EPOCH + chrono::TimeDelta::hours(1);
        let holders = [held("a", 1), held("b", 1)];
        change(&provider(), &body(asked), xml.map(described), &holders, later).unwrap()
    }

    #[test]
    fn what_says_nothing_new_changes_nothing() {
        for asked in [
            json!({"name_id_format": EMAIL_ADDRESS}),
            json!({"name_id_format": EMAIL_ADDRESS, "domains": ["b", "a"], "resource_id": "acme"}),
            json!({"name_id_format": EMAIL_ADDRESS, "attribute_mapping": {"keys": {"name": {"name": "cn"}}}}),
            json!({"name_id_format": EMAIL_ADDRESS, "attribute_mapping": {}, "disabled": null}),
        ] {
            assert_eq!(changed(&asked, None), None, "{asked}");
        }
    }

    #[test]
    fn domains_go_and_come_only_where_they_are_named() {
        let change = changed(&json!({"domains": ["b", "c"]}), None).unwrap();
        assert_eq!(
            (change.gone, change.new, change.after.domains),
            (vec!["a".into()], vec!["c".into()], vec!["b".into(), "c".into()])
        );
        let none = changed(&json!({"domains": []}), None).unwrap();
        assert_eq!((none.gone.len(), none.after.domains.len()), (2, 0));
        assert_eq!(changed(&json!({"disabled": true}), None).unwrap().after.domains, ["a", "b"]);
        let taken = body(&json!({"domains": ["b", "x"]}));
        let refused = change_by(&taken, &[held("b", 1), held("x", 2)]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "400: SSO domain 'x' already assigned to another provider (00000000-0000-0000-0000-000000000002)"
        );
    }

    fn change_by(body: &AdminSsoProvider, holders: &[Holder]) -> Result<Option<Change>> {
        change(&provider(), body, None, holders, Time::UNIX_EPOCH)
    }

    #[test]
    fn a_name_id_format_is_stored_beside_other_changes_only() {
        let format = |asked: Value, xml| {
            let change = changed(&asked, xml).unwrap();
            (change.saml, change.after.saml.name_id_format)
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
    fn a_description_is_of_the_same_entity_and_keeps_its_address() {
        let change = changed(&json!({}), Some("<new/>")).unwrap();
        assert_eq!(change.after.saml.metadata_xml, "<new/>");
        assert_eq!(change.after.saml.metadata_url.as_deref(), Some("https://idp.example.com/old"));
        let moved = changed(&json!({"metadata_url": "https://idp.example.com/new"}), Some("<new/>")).unwrap();
        assert_eq!(moved.after.saml.metadata_url.as_deref(), Some("https://idp.example.com/new"));
        let other = Described { entity_id: "x".into(), xml: String::new() };
        let refused = require_same_entity(&provider(), &other).unwrap_err();
        assert_eq!((refused.status(), refused.code()), (400, "saml_entity_id_mismatch"));
        assert!(refused.message().ends_with("expected 'e' but got 'x'"));
    }

    #[test]
    fn an_empty_resource_id_takes_it_away() {
        assert_eq!(changed(&json!({"resource_id": ""}), None).unwrap().after.resource_id, None);
        assert_eq!(changed(&json!({"resource_id": "uno"}), None).unwrap().after.resource_id.as_deref(), Some("uno"));
        assert_eq!(changed(&json!({"disabled": false}), None).unwrap().after.disabled, Some(false));
    }
}
