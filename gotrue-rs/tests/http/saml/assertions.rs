//! Required content of responses and assertions, by default and hardened, and refused XML.

use gotrue_rs::testing::identity_provider::{IdentityProvider, SamlAssertion};
use gotrue_rules::domain::saml::{SamlError, SamlValidationError};

use super::{IDP, Reader, assertion};

type Change = fn(&mut SamlAssertion);

fn respond(change: Change) -> String {
    let mut reported = assertion();
    change(&mut reported);
    IdentityProvider::new(IDP).signed_response(&reported)
}

/// A response whose assertion is changed before it is signed.
fn respond_with(change: impl Fn(String) -> String) -> String {
    assertion().response_xml(&IdentityProvider::new(IDP).signed(&change(assertion().assertion_xml()), "a1"))
}

fn without(text: &str, from: &str, to: &str) -> String {
    let (before, rest) = text.split_once(from).expect("what is left out");
    format!("{before}{}", rest.split_once(to).expect("its end").1)
}

#[track_caller]
fn refused(reader: &Reader, xml: &str) -> SamlValidationError {
    match reader.read(xml) {
        Err(SamlError::Validation(why)) => why,
        other => panic!("{other:?} {xml}"),
    }
}

#[test]
fn b6_wrong_audience_recipient_or_time_is_refused() {
    let cases: [(Change, SamlValidationError); 11] = [
        (|assertion| assertion.issued_at = -91, SamlValidationError::TooOld),
        (|assertion| assertion.not_on_or_after = -181, SamlValidationError::Expired),
        (|assertion| assertion.not_before = 181, SamlValidationError::NotYetValid),
        (
            |assertion| assertion.audience = "https://other.example.com".into(),
            SamlValidationError::Audience(vec!["https://other.example.com".into()]),
        ),
        (
            |assertion| assertion.audience = format!(" {} ", assertion.audience),
            SamlValidationError::Audience(vec![" http://auth.example.com/sso/saml/metadata ".into()]),
        ),
        (
            |assertion| assertion.destination = "https://other.example.com".into(),
            SamlValidationError::Destination("https://other.example.com".into()),
        ),
        (
            |assertion| assertion.recipient = "https://other.example.com".into(),
            SamlValidationError::Recipient("https://other.example.com".into()),
        ),
        (
            |assertion| assertion.recipient.push('/'),
            SamlValidationError::Recipient("http://auth.example.com/sso/saml/acs/".into()),
        ),
        (|assertion| assertion.recipient.clear(), SamlValidationError::Recipient(String::new())),
        (
            |assertion| assertion.status = "Responder".into(),
            SamlValidationError::Status("urn:oasis:names:tc:SAML:2.0:status:Responder".into()),
        ),
        (
            |assertion| assertion.issuer = "https://other.example.com".into(),
            SamlValidationError::Issuer("https://other.example.com".into()),
        ),
    ];
    let reader = Reader::of(&IdentityProvider::new(IDP));
    for (change, expected) in cases {
        assert_eq!(refused(&reader, &respond(change)), expected);
        assert_eq!(refused(&reader.clone().in_serve(), &respond(change)), expected);
    }
}

#[test]
fn clock_skew_of_three_minutes_is_accepted() {
    let reader = Reader::of(&IdentityProvider::new(IDP)).in_serve();
    let cases: [Change; 4] = [
        |assertion| assertion.issued_at = -90,
        |assertion| assertion.not_on_or_after = -180,
        |assertion| assertion.not_before = 180,
        |assertion| (assertion.issued_at, assertion.not_before) = (180, 180),
    ];
    for change in cases {
        assert_eq!(reader.name(&respond(change)), "ann-at-work");
    }
}

#[test]
fn in_response_to_must_match_the_request() {
    let provider = IdentityProvider::new(IDP);
    let reader = Reader { request: Some("id-1".into()), ..Reader::of(&provider) };
    let answer = |to: Option<&str>| {
        provider.signed_response(&SamlAssertion { in_response_to: to.map(str::to_owned), ..assertion() })
    };
    assert_eq!(reader.name(&answer(Some("id-1"))), "ann-at-work");
    assert_eq!(refused(&reader, &answer(Some("id-2"))), SamlValidationError::InResponseTo("id-2".into()));
    assert_eq!(refused(&reader, &answer(None)), SamlValidationError::InResponseTo(String::new()));
    let other = SamlAssertion { in_response_to: Some("id-2".into()), ..assertion() };
    let mixed = SamlAssertion { in_response_to: Some("id-1".into()), ..assertion() }
        .response_xml(&provider.signed(&other.assertion_xml(), "a1"));
    assert_eq!(refused(&reader, &mixed), SamlValidationError::InResponseTo("id-2".into()), "the assertion says it too");
    assert_eq!(
        Reader::of(&provider).name(&answer(Some("id-2"))),
        "ann-at-work",
        "without a request it may be anything"
    );
}

#[test]
fn b6_assertions_that_crash_gotrue_are_refused() {
    let reader = Reader::of(&IdentityProvider::new(IDP));
    for (xml, expected) in [
        (
            respond_with(|xml| without(&xml, "<saml:Conditions", "</saml:Conditions>")),
            SamlValidationError::NoConditions,
        ),
        (respond_with(|xml| without(&xml, "<saml:Subject>", "</saml:Subject>")), SamlValidationError::NoSubject),
        (
            respond_with(|xml| without(&xml, "<saml:SubjectConfirmationData", "</saml:SubjectConfirmationData>")),
            SamlValidationError::NoConfirmationData,
        ),
    ] {
        assert_eq!(refused(&reader, &xml), expected);
    }
    let anonymous = respond_with(|xml| without(&xml, "<saml:Issuer>", "</saml:Issuer>"));
    assert!(reader.read(&anonymous).is_err());
}

#[test]
fn b6_hardened_policy_enforces_additional_checks() {
    let reader = Reader::of(&IdentityProvider::new(IDP));
    let restriction = "<saml:AudienceRestriction><saml:Audience>other</saml:Audience></saml:AudienceRestriction>";
    for (xml, expected) in [
        (
            respond_with(|xml| without(&xml, "<saml:AudienceRestriction>", "</saml:AudienceRestriction>")),
            SamlValidationError::NoAudience,
        ),
        (
            respond_with(|xml| {
                xml.replacen("<saml:AudienceRestriction>", &format!("{restriction}<saml:AudienceRestriction>"), 1)
            }),
            SamlValidationError::Audience(vec!["other".into(), "http://auth.example.com/sso/saml/metadata".into()]),
        ),
        (
            respond_with(|xml| without(&xml, "<saml:SubjectConfirmation ", "</saml:SubjectConfirmation>")),
            SamlValidationError::NoBearerConfirmation,
        ),
        (respond_with(|xml| xml.replace(":cm:bearer", ":cm:holder-of-key")), SamlValidationError::NoBearerConfirmation),
        (
            respond_with(|xml| {
                xml.replacen(
                    "SubjectConfirmationData NotOnOrAfter",
                    "SubjectConfirmationData NotBefore=\"2026-06-01T12:03:01Z\" NotOnOrAfter",
                    1,
                )
            }),
            SamlValidationError::NotYetValid,
        ),
        (respond(|assertion| assertion.issued_at = 181), SamlValidationError::IssuedInFuture),
    ] {
        assert_eq!(reader.name(&xml), "ann-at-work");
        assert_eq!(refused(&reader.clone().in_serve(), &xml), expected);
    }
}

#[test]
fn one_of_several_audiences_is_enough() {
    let reader = Reader::of(&IdentityProvider::new(IDP)).in_serve();
    for (from, to) in [
        ("<saml:Audience>", "<saml:Audience>other</saml:Audience><saml:Audience>"),
        ("</saml:Audience>", "</saml:Audience><saml:Audience>other</saml:Audience>"),
    ] {
        assert_eq!(reader.name(&respond_with(|xml| xml.replacen(from, to, 1))), "ann-at-work");
    }
}

#[test]
fn all_attributes_are_read() {
    let provider = IdentityProvider::new(IDP);
    let assertion = Reader::of(&provider)
        .read(&provider.signed_response(&SamlAssertion {
            name: "Ann & <co>".into(),
            session_not_on_or_after: Some(3600),
            attributes: vec![("groups".into(), vec!["staff".into(), String::new(), " chess".into()])],
            ..assertion()
        }))
        .expect("accepted");
    assert_eq!(assertion.name_id.as_ref().map(|name_id| name_id.value.as_str()), Some("Ann & <co>"));
    assert_eq!(assertion.session_not_on_or_after, Some(super::now() + chrono::TimeDelta::hours(1)));
    assert_eq!((assertion.id.as_str(), assertion.issuer.as_str()), ("a1", IDP));
    assert_eq!(assertion.attributes[0].values, ["staff", "", " chess"]);
}

#[test]
fn g3_dangerous_xml_is_refused() {
    let reader = Reader::of(&IdentityProvider::new(IDP));
    let signed = respond(|_| {});
    let entity = |level| format!("<!ENTITY l{level} \"{}\">", format!("&l{};", level - 1).repeat(10));
    let bomb = (1..12).map(entity).collect::<Vec<String>>().concat();
    for xml in [
        format!("<!DOCTYPE r>{signed}"),
        format!("<!DOCTYPE r [<!ENTITY l0 \"lol\">{bomb}]>{}", signed.replace("ann-at-work", "&l11;")),
        format!("<!DOCTYPE r [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>{}", signed.replace("ann-at-work", "&x;")),
        format!("<!DOCTYPE r SYSTEM \"https://evil.example.com/x.dtd\">{signed}"),
        signed.replace("ann-at-work", "&x;"),
        signed.replace(
            "</samlp:Response>",
            &format!("{}{}</samlp:Response>", "<x>".repeat(50_000), "</x>".repeat(50_000)),
        ),
        format!("{signed}{signed}"),
        format!("{signed}x"),
        signed.replace("samlp:", ""),
        signed.replacen("urn:oasis:names:tc:SAML:2.0:protocol", "urn:other", 1),
        signed
            .replacen("<samlp:Response", "<samlp:LogoutResponse", 1)
            .replace("</samlp:Response", "</samlp:LogoutResponse"),
        String::new(),
    ] {
        let refusal = reader.read(&xml).expect_err("hostile");
        assert!(matches!(refusal, SamlError::Malformed(_) | SamlError::NotAResponse), "{refusal}");
    }
}

#[test]
fn g3_response_with_many_assertions_is_refused() {
    let provider = IdentityProvider::new(IDP);
    let reader = Reader::of(&provider);
    let evil = SamlAssertion { id: "e".into(), ..assertion() }.assertion_xml();
    let signed = provider.signed(&assertion().assertion_xml(), "a1");
    assert_eq!(reader.name(&assertion().response_xml(&format!("{}{signed}", evil.repeat(7)))), "ann-at-work");
    let many = assertion().response_xml(&format!("{}{signed}", evil.repeat(8)));
    assert_eq!(reader.read(&many).unwrap_err(), SamlError::TooManyAssertions(9));
    assert_eq!(reader.read(&assertion().response_xml("")).unwrap_err(), SamlError::NoAssertion);
}
