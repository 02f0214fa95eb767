//! Who an assertion is about: an id that stays the same, an address, and claims as the administrator's mapping has them.

use serde_json::{Map, Value};

use super::assertion::Assertion;
use crate::domain::error::{Error, Result};
use crate::domain::external::claims;
use crate::domain::external::profile::{Profile, ProviderEmail};
use crate::domain::sso::mapping::{self, AttributeMapping};
use crate::domain::sso::{EMAIL_ADDRESS, TRANSIENT};
use crate::wire::go_json::Document;

/// The attribute that names a person for good, whatever the `NameID` is.
const SUBJECT_ID: &str = "urn:oasis:names:tc:SAML:attribute:subject-id";
/// Attributes that hold an address, in the order in which they are asked.
const ADDRESSES: [&str; 6] = [
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    "http://schemas.xmlsoap.org/claims/EmailAddress",
    "mail",
    "Mail",
    "email",
];

/// The person of an assertion that is believed, as the identity provider `issuer` describes them.
pub fn profile(assertion: &Assertion, mapping: &AttributeMapping, issuer: &str) -> Result<Profile> {
    let subject = id(assertion).filter(|id| !id.is_empty()).ok_or_else(no_id)?;
    let mut said = mapped(assertion, mapping);
    let mapped_address = said.get("email").and_then(Value::as_str).filter(|address| !address.is_empty());
    let address = mapped_address.or_else(|| address(assertion)).ok_or_else(no_address)?.to_owned();
    said.insert("email".to_owned(), Value::String(address.clone()));
    let mut known = claims::read(&Document::from(said.clone())).map_err(|cause| {
        Error::internal("Mapped claims from provider could not be deserialized from JSON").because(cause)
    })?;
    known.subject = subject;
    issuer.clone_into(&mut known.issuer);
    known.email.clone_from(&address);
    known.email_verified = true;
    for name in known.identity_data().keys() {
        said.shift_remove(name);
    }
    known.custom_claims = Some(said);
    let email = ProviderEmail { address, verified: true, primary: true };
    Ok(Profile { emails: vec![email], claims: known })
}

fn no_id() -> Error {
    let message = "SAML Assertion did not contain a persistent Subject Identifier attribute or Subject NameID uniquely \
                   identifying this user";
    Error::bad_request("saml_assertion_no_user_id", message)
}

fn no_address() -> Error {
    Error::bad_request("saml_assertion_no_email", "SAML Assertion does not contain an email address")
}

/// What identifies the person for good.
fn id(assertion: &Assertion) -> Option<String> {
    if let Some(first) = values(assertion, SUBJECT_ID).next() {
        return Some(first.to_owned());
    }
    let name = assertion.name.as_ref()?;
    match name.format.as_str() {
        TRANSIENT => None,
        EMAIL_ADDRESS => Some(name.value.trim().to_lowercase()),
        _ => Some(name.value.clone()),
    }
}

/// The address that is to be found without a mapping.
fn address(assertion: &Assertion) -> Option<&str> {
    let mut attributes = ADDRESSES.iter().flat_map(|name| values(assertion, name));
    let name = assertion.name.as_ref().filter(|name| name.format == EMAIL_ADDRESS).map(|name| name.value.as_str());
    attributes.find(|value| !value.is_empty()).or(name).filter(|value| !value.is_empty())
}

/// The values of all attributes of that name, which may be the friendly one, in any letter case.
fn values<'a>(assertion: &'a Assertion, name: &str) -> impl Iterator<Item = &'a str> {
    let name = name.to_lowercase();
    let is_meant = move |said: &str| said.to_lowercase() == name;
    let meant = assertion.attributes.iter().filter(move |it| is_meant(&it.name) || is_meant(&it.friendly_name));
    meant.flat_map(|it| &it.values).map(String::as_str)
}

/// The claims that the mapping makes of the attributes.
fn mapped(assertion: &Assertion, mapping: &AttributeMapping) -> Map<String, Value> {
    let keys = mapping.keys.iter().flatten();
    keys.filter_map(|(claim, source)| Some((claim.clone(), claim_of(assertion, source)?))).collect()
}

/// The values of the first attribute that has any but empty ones, or the first of them; else the default.
fn claim_of(assertion: &Assertion, source: &mapping::Attribute) -> Option<Value> {
    let first = Some(&source.name).filter(|name| !name.is_empty());
    let found = first.into_iter().chain(&source.names).find_map(|name| {
        let said: Vec<&str> = values(assertion, name).filter(|value| !value.is_empty()).collect();
        let first = *said.first()?;
        Some(if source.array { Value::from(said) } else { Value::from(first) })
    });
    found.or_else(|| source.default.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::saml::assertion::{Attribute, NameId};
    use crate::domain::sso::{PERSISTENT, UNSPECIFIED};

    const IDP: &str = "https://idp.example.com";

    fn said(format: &str, name: &str, attributes: &[(&str, &[&str])]) -> Assertion {
        let attributes = attributes.iter().map(|(name, values)| Attribute {
            name: (*name).to_owned(),
            friendly_name: String::new(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        });
        Assertion {
            name: Some(NameId { format: format.to_owned(), value: name.to_owned() }),
            attributes: attributes.collect(),
            ..Assertion::default()
        }
    }

    fn made(assertion: &Assertion, mapping: &Value) -> Result<(String, String, Value)> {
        let mapping: AttributeMapping = serde_json::from_value(json!({"keys": mapping})).unwrap();
        let profile = profile(assertion, &mapping, IDP)?;
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
    fn a_person_is_known_by_what_stays_the_same() {
        const MAIL: (&str, &[&str]) = ("mail", &["ann@example.com"]);
        let subject_id: (&str, &[&str]) = (SUBJECT_ID, &["ann@work", "other"]);
        for (assertion, expected) in [
            (said(PERSISTENT, "ann", &[MAIL]), Some("ann")),
            (said(PERSISTENT, " ann ", &[MAIL]), Some(" ann ")),
            (said(UNSPECIFIED, "ann", &[MAIL]), Some("ann")),
            (said("", "ann", &[MAIL]), Some("ann")),
            (said(EMAIL_ADDRESS, " Ann@Example.com ", &[MAIL]), Some("ann@example.com")),
            (said(PERSISTENT, "x", &[subject_id, MAIL]), Some("ann@work")),
            (said(TRANSIENT, "x", &[subject_id, MAIL]), Some("ann@work")),
            (said(TRANSIENT, "x", &[MAIL]), None),
            (said(PERSISTENT, "", &[MAIL]), None),
            (said(EMAIL_ADDRESS, "  ", &[MAIL]), None),
            (said(PERSISTENT, "x", &[(SUBJECT_ID, &[""]), MAIL]), None),
            (Assertion { name: None, ..said("", "", &[MAIL]) }, None),
        ] {
            let made = made(&assertion, &json!({}));
            match expected {
                Some(id) => assert_eq!(made.unwrap().0, id),
                None => assert_eq!(made.unwrap_err().code(), "saml_assertion_no_user_id"),
            }
        }
    }

    #[test]
    fn an_address_is_looked_for_in_many_places() {
        let email = |name: &'static str| (name, &["Ann@Example.com"] as &[&str]);
        for (assertion, mapping, expected) in [
            (said("", "ann", &[email("mail")]), json!({}), Some("Ann@Example.com")),
            (said("", "ann", &[email("URN:OID:0.9.2342.19200300.100.1.3")]), json!({}), Some("Ann@Example.com")),
            (
                said("", "ann", &[email("email"), ("mail", &["first@example.com"])]),
                json!({}),
                Some("first@example.com"),
            ),
            (said("", "ann", &[("mail", &["", "second@example.com"])]), json!({}), Some("second@example.com")),
            (
                said("", "ann", &[email("work"), ("mail", &["m@example.com"])]),
                json!({"email": {"name": "work"}}),
                Some("Ann@Example.com"),
            ),
            (
                said("", "ann", &[("mail", &["m@example.com"])]),
                json!({"email": {"name": "work"}}),
                Some("m@example.com"),
            ),
            (
                said("", "ann", &[]),
                json!({"email": {"name": "work", "default": "d@example.com"}}),
                Some("d@example.com"),
            ),
            (said(EMAIL_ADDRESS, " Ann@Example.com", &[]), json!({}), Some(" Ann@Example.com")),
            (said("", "ann@example.com", &[]), json!({}), None),
            (said("", "ann", &[("mail", &[""])]), json!({}), None),
            (said("", "ann", &[("mail", &[])]), json!({"email": {"name": "work", "default": 7}}), None),
        ] {
            let made = made(&assertion, &mapping);
            match expected {
                Some(address) => assert_eq!(made.unwrap().1, address),
                None => assert_eq!(made.unwrap_err().code(), "saml_assertion_no_email"),
            }
        }
    }

    #[test]
    fn claims_are_what_the_mapping_makes_of_attributes() {
        let assertion = said(
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
            assert_eq!(made(&assertion, &mapping).unwrap().2, expected, "{mapping}");
        }
    }

    #[test]
    fn a_claim_of_another_type_makes_the_assertion_useless() {
        let assertion = said("", "ann", &[("mail", &["ann@example.com"]), ("groups", &["staff"])]);
        for mapping in [
            json!({"name": {"default": 7}}),
            json!({"name": {"name": "groups", "array": true}}),
            json!({"email_verified": {"default": "yes"}}),
            json!({"updated_at": {"name": "groups"}}),
        ] {
            let error = made(&assertion, &mapping).unwrap_err();
            assert_eq!((error.status(), error.code()), (500, "unexpected_failure"));
        }
    }
}
