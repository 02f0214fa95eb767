//! Builds a profile from an assertion: a persistent id, an address, and mapped claims.

use foundation::error::{Error, ErrorCode, Result};
use serde_json::{Map, Value};

use super::assertion::Assertion;
use crate::domain::external::claims;
use crate::domain::external::profile::{ProviderEmail, ProviderProfile};
use crate::domain::sso::mapping::{self, AttributeMapping};
use crate::domain::sso::{EMAIL_ADDRESS, TRANSIENT};
use crate::wire::go_json::Document;

/// The attribute with a persistent subject id, whatever the `NameID` is.
const SUBJECT_ID_ATTRIBUTE: &str = "urn:oasis:names:tc:SAML:attribute:subject-id";
/// Attributes that contain an email address, in order of precedence.
const EMAIL_ATTRIBUTES: [&str; 6] = [
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    "http://schemas.xmlsoap.org/claims/EmailAddress",
    "mail",
    "Mail",
    "email",
];

/// Builds the profile of a verified assertion of the identity provider `issuer`.
pub fn build_profile(assertion: &Assertion, mapping: &AttributeMapping, issuer: &str) -> Result<ProviderProfile> {
    let subject = subject_id(assertion).filter(|id| !id.is_empty()).ok_or_else(missing_subject_id)?;
    let mut mapped_claims = apply_mapping(assertion, mapping);
    let mapped_address = mapped_claims.get("email").and_then(Value::as_str).filter(|address| !address.is_empty());
    let address = mapped_address.or_else(|| find_email(assertion)).ok_or_else(missing_email)?.to_owned();
    mapped_claims.insert("email".to_owned(), Value::String(address.clone()));
    let mut known = claims::parse(&Document::from(mapped_claims.clone())).map_err(|cause| {
        Error::internal("Mapped claims from provider could not be deserialized from JSON").with_cause(cause)
    })?;
    known.subject = subject;
    issuer.clone_into(&mut known.issuer);
    known.email.clone_from(&address);
    known.email_verified = true;
    for name in known.identity_data().keys() {
        mapped_claims.shift_remove(name);
    }
    known.custom_claims = Some(mapped_claims);
    let email = ProviderEmail { address, verified: true, primary: true };
    Ok(ProviderProfile { emails: vec![email], claims: known })
}

fn missing_subject_id() -> Error {
    let message = "SAML Assertion did not contain a persistent Subject Identifier attribute or Subject NameID uniquely \
                   identifying this user";
    Error::new(ErrorCode::SamlAssertionNoUserId, message)
}

fn missing_email() -> Error {
    Error::new(ErrorCode::SamlAssertionNoEmail, "SAML Assertion does not contain an email address")
}

/// The persistent id of the subject.
fn subject_id(assertion: &Assertion) -> Option<String> {
    if let Some(first) = attribute_values(assertion, SUBJECT_ID_ATTRIBUTE).next() {
        return Some(first.to_owned());
    }
    let name = assertion.name_id.as_ref()?;
    match name.format.as_str() {
        TRANSIENT => None,
        EMAIL_ADDRESS => Some(name.value.trim().to_lowercase()),
        _ => Some(name.value.clone()),
    }
}

/// The email address without a mapping.
fn find_email(assertion: &Assertion) -> Option<&str> {
    let mut attributes = EMAIL_ATTRIBUTES.iter().flat_map(|name| attribute_values(assertion, name));
    let name = assertion.name_id.as_ref().filter(|name| name.format == EMAIL_ADDRESS).map(|name| name.value.as_str());
    attributes.find(|value| !value.is_empty()).or(name).filter(|value| !value.is_empty())
}

/// The values of all attributes with that `Name` or `FriendlyName`, ignoring letter case.
fn attribute_values<'a>(assertion: &'a Assertion, name: &str) -> impl Iterator<Item = &'a str> {
    let name = name.to_lowercase();
    let matches_name = move |other: &str| other.to_lowercase() == name;
    let matching = assertion
        .attributes
        .iter()
        .filter(move |attribute| matches_name(&attribute.name) || matches_name(&attribute.friendly_name));
    matching.flat_map(|attribute| &attribute.values).map(String::as_str)
}

fn apply_mapping(assertion: &Assertion, mapping: &AttributeMapping) -> Map<String, Value> {
    let keys = mapping.keys.iter().flatten();
    keys.filter_map(|(claim, source)| Some((claim.clone(), mapped_claim(assertion, source)?))).collect()
}

/// The non-empty values of the first attribute that has any (or its first value), else the default.
fn mapped_claim(assertion: &Assertion, source: &mapping::AttributeSource) -> Option<Value> {
    let first = Some(&source.name).filter(|name| !name.is_empty());
    let found = first.into_iter().chain(&source.names).find_map(|name| {
        let found: Vec<&str> = attribute_values(assertion, name).filter(|value| !value.is_empty()).collect();
        let first = *found.first()?;
        Some(if source.array { Value::from(found) } else { Value::from(first) })
    });
    found.or_else(|| source.default.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::saml::assertion::{NameId, SamlAttribute};
    use crate::domain::sso::{PERSISTENT, UNSPECIFIED};

    const IDP: &str = "https://idp.example.com";

    fn assertion_with(format: &str, name: &str, attributes: &[(&str, &[&str])]) -> Assertion {
        let attributes = attributes.iter().map(|(name, values)| SamlAttribute {
            name: (*name).to_owned(),
            friendly_name: String::new(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        });
        Assertion {
            name_id: Some(NameId { format: format.to_owned(), value: name.to_owned() }),
            attributes: attributes.collect(),
            ..Assertion::default()
        }
    }

    fn profile_members(assertion: &Assertion, mapping: &Value) -> Result<(String, String, Value)> {
        let mapping: AttributeMapping = serde_json::from_value(json!({"keys": mapping})).unwrap();
        let profile = build_profile(assertion, &mapping, IDP)?;
        assert_eq!(profile.emails.len(), 1);
        let mut data = Value::Object(profile.claims.identity_data());
        for expected in [("iss", json!(IDP)), ("email_verified", json!(true)), ("phone_verified", json!(false))] {
            assert_eq!(data.as_object_mut().unwrap().remove(expected.0), Some(expected.1));
        }
        let mut take = |name| data.as_object_mut().unwrap().remove(name).unwrap().as_str().unwrap().to_owned();
        let (subject, email) = (take("sub"), take("email"));
        Ok((subject, email, data))
    }

    #[test]
    fn subject_is_persistent_id() {
        const MAIL: (&str, &[&str]) = ("mail", &["ann@example.com"]);
        let subject_id: (&str, &[&str]) = (SUBJECT_ID_ATTRIBUTE, &["ann@work", "other"]);
        for (assertion, expected) in [
            (assertion_with(PERSISTENT, "ann", &[MAIL]), Some("ann")),
            (assertion_with(PERSISTENT, " ann ", &[MAIL]), Some(" ann ")),
            (assertion_with(UNSPECIFIED, "ann", &[MAIL]), Some("ann")),
            (assertion_with("", "ann", &[MAIL]), Some("ann")),
            (assertion_with(EMAIL_ADDRESS, " Ann@Example.com ", &[MAIL]), Some("ann@example.com")),
            (assertion_with(PERSISTENT, "x", &[subject_id, MAIL]), Some("ann@work")),
            (assertion_with(TRANSIENT, "x", &[subject_id, MAIL]), Some("ann@work")),
            (assertion_with(TRANSIENT, "x", &[MAIL]), None),
            (assertion_with(PERSISTENT, "", &[MAIL]), None),
            (assertion_with(EMAIL_ADDRESS, "  ", &[MAIL]), None),
            (assertion_with(PERSISTENT, "x", &[(SUBJECT_ID_ATTRIBUTE, &[""]), MAIL]), None),
            (Assertion { name_id: None, ..assertion_with("", "", &[MAIL]) }, None),
        ] {
            let made = profile_members(&assertion, &json!({}));
            match expected {
                Some(id) => assert_eq!(made.unwrap().0, id),
                None => assert_eq!(made.unwrap_err().code().as_str(), "saml_assertion_no_user_id"),
            }
        }
    }

    #[test]
    fn email_is_found_in_mapping_attributes_or_name_id() {
        let email = |name: &'static str| (name, &["Ann@Example.com"] as &[&str]);
        for (assertion, mapping, expected) in [
            (assertion_with("", "ann", &[email("mail")]), json!({}), Some("Ann@Example.com")),
            (
                assertion_with("", "ann", &[email("URN:OID:0.9.2342.19200300.100.1.3")]),
                json!({}),
                Some("Ann@Example.com"),
            ),
            (
                assertion_with("", "ann", &[email("email"), ("mail", &["first@example.com"])]),
                json!({}),
                Some("first@example.com"),
            ),
            (
                assertion_with("", "ann", &[("mail", &["", "second@example.com"])]),
                json!({}),
                Some("second@example.com"),
            ),
            (
                assertion_with("", "ann", &[email("work"), ("mail", &["m@example.com"])]),
                json!({"email": {"name": "work"}}),
                Some("Ann@Example.com"),
            ),
            (
                assertion_with("", "ann", &[("mail", &["m@example.com"])]),
                json!({"email": {"name": "work"}}),
                Some("m@example.com"),
            ),
            (
                assertion_with("", "ann", &[]),
                json!({"email": {"name": "work", "default": "d@example.com"}}),
                Some("d@example.com"),
            ),
            (assertion_with(EMAIL_ADDRESS, " Ann@Example.com", &[]), json!({}), Some(" Ann@Example.com")),
            (assertion_with("", "ann@example.com", &[]), json!({}), None),
            (assertion_with("", "ann", &[("mail", &[""])]), json!({}), None),
            (assertion_with("", "ann", &[("mail", &[])]), json!({"email": {"name": "work", "default": 7}}), None),
        ] {
            let made = profile_members(&assertion, &mapping);
            match expected {
                Some(address) => assert_eq!(made.unwrap().1, address),
                None => assert_eq!(made.unwrap_err().code().as_str(), "saml_assertion_no_email"),
            }
        }
    }

    #[test]
    fn mapping_builds_claims_from_attributes() {
        let assertion = assertion_with(
            "",
            "ann",
            &[
                ("displayName", &["Ann", "Example"]),
                ("mail", &["ann@example.com"]),
                ("groups", &["staff", "", "chess"]),
                ("GROUPS", &["more"]),
                ("empty", &[""]),
            ],
        );
        for (mapping, expected) in [
            (json!({}), json!({"custom_claims": {}})),
            (json!({"name": {"name": "DISPLAYNAME"}}), json!({"name": "Ann", "custom_claims": {}})),
            (json!({"x": {"name": "none", "names": ["empty", "displayName"]}}), json!({"custom_claims": {"x": "Ann"}})),
            (
                json!({"g": {"name": "groups", "array": true}}),
                json!({"custom_claims": {"g": ["staff", "chess", "more"]}}),
            ),
            (json!({"one": {"name": "groups"}}), json!({"custom_claims": {"one": "staff"}})),
            (json!({"site": {"name": "site", "default": "Basel"}}), json!({"custom_claims": {"site": "Basel"}})),
            (json!({"on": {"default": true}, "n": {"default": 1.5}}), json!({"custom_claims": {"on": true, "n": 1.5}})),
            (json!({"x": {"name": "site"}}), json!({"custom_claims": {}})),
            (json!({"x": {"name": "site", "default": null}}), json!({"custom_claims": {}})),
            (json!({"name": {"default": ""}}), json!({"custom_claims": {"name": ""}})),
            (
                json!({"aud": {"name": "groups", "array": true}}),
                json!({"aud": ["staff", "chess", "more"], "custom_claims": {}}),
            ),
            (json!({"sub": {"default": "bob"}, "iss": {"default": "x"}}), json!({"custom_claims": {}})),
            (json!({"email_verified": {"default": false}}), json!({"custom_claims": {}})),
            (json!({"custom_claims": {"default": {"role": "admin"}}}), json!({"custom_claims": {}})),
        ] {
            assert_eq!(profile_members(&assertion, &mapping).unwrap().2, expected, "{mapping}");
        }
    }

    #[test]
    fn mapped_claim_of_wrong_type_is_rejected() {
        let assertion = assertion_with("", "ann", &[("mail", &["ann@example.com"]), ("groups", &["staff"])]);
        for mapping in [
            json!({"name": {"default": 7}}),
            json!({"name": {"name": "groups", "array": true}}),
            json!({"email_verified": {"default": "yes"}}),
            json!({"updated_at": {"name": "groups"}}),
        ] {
            let error = profile_members(&assertion, &mapping).unwrap_err();
            assert_eq!((error.status(), error.code().as_str()), (500, "unexpected_failure"));
        }
    }
}
