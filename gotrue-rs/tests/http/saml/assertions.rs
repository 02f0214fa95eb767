//! What a response and its assertion must say, in the reference and in `basalt serve`, and XML that is not read at all.

use gotrue_rs::testing::identity_provider::{IdentityProvider, Said};
use gotrue_rules::domain::saml::Refusal;
use gotrue_rules::domain::saml::acceptance::Unacceptable;

use super::{IDP, Reader, said};

type Change = fn(&mut Said);

fn respond(change: Change) -> String {
    let mut said = said();
    change(&mut said);
    IdentityProvider::new(IDP).respond(&said)
}

/// A response whose assertion is changed before it is signed.
fn respond_with(change: impl Fn(String) -> String) -> String {
    said().response(&IdentityProvider::new(IDP).signed(&change(said().assertion()), "a1"))
}

fn without(text: &str, from: &str, to: &str) -> String {
    let (before, rest) = text.split_once(from).expect("what is left out");
    format!("{before}{}", rest.split_once(to).expect("its end").1)
}

#[track_caller]
fn refused(reader: &Reader, xml: &str) -> Unacceptable {
    match reader.read(xml) {
        Err(Refusal::Unacceptable(why)) => why,
        other => panic!("{other:?} {xml}"),
    }
}

#[test]
fn b6_what_is_not_for_us_or_not_for_now_is_refused() {
    let cases: [(Change, Unacceptable); 11] = [
        (|it| it.issued = -91, Unacceptable::Old),
        (|it| it.until = -181, Unacceptable::Late),
        (|it| it.from = 181, Unacceptable::Early),
        (
            |it| it.audience = "https://other.example.com".into(),
            Unacceptable::Audience(vec!["https://other.example.com".into()]),
        ),
        (
            |it| it.audience = format!(" {} ", it.audience),
            Unacceptable::Audience(vec![" http://auth.example.com/sso/saml/metadata ".into()]),
        ),
        (
            |it| it.destination = "https://other.example.com".into(),
            Unacceptable::Destination("https://other.example.com".into()),
        ),
        (
            |it| it.recipient = "https://other.example.com".into(),
            Unacceptable::Recipient("https://other.example.com".into()),
        ),
        (|it| it.recipient.push('/'), Unacceptable::Recipient("http://auth.example.com/sso/saml/acs/".into())),
        (|it| it.recipient.clear(), Unacceptable::Recipient(String::new())),
        (
            |it| it.status = "Responder".into(),
            Unacceptable::Status("urn:oasis:names:tc:SAML:2.0:status:Responder".into()),
        ),
        (|it| it.issuer = "https://other.example.com".into(), Unacceptable::Issuer("https://other.example.com".into())),
    ];
    let reader = Reader::of(&IdentityProvider::new(IDP));
    for (change, expected) in cases {
        assert_eq!(refused(&reader, &respond(change)), expected);
        assert_eq!(refused(&reader.clone().in_serve(), &respond(change)), expected);
    }
}

#[test]
fn clocks_may_differ_by_three_minutes() {
    let reader = Reader::of(&IdentityProvider::new(IDP)).in_serve();
    let cases: [Change; 4] =
        [|it| it.issued = -90, |it| it.until = -180, |it| it.from = 180, |it| (it.issued, it.from) = (180, 180)];
    for change in cases {
        assert_eq!(reader.name(&respond(change)), "ann-at-work");
    }
}

#[test]
fn an_answer_is_to_the_request_that_was_sent() {
    let provider = IdentityProvider::new(IDP);
    let reader = Reader { request: Some("id-1".into()), ..Reader::of(&provider) };
    let answer = |to: Option<&str>| provider.respond(&Said { in_response_to: to.map(str::to_owned), ..said() });
    assert_eq!(reader.name(&answer(Some("id-1"))), "ann-at-work");
    assert_eq!(refused(&reader, &answer(Some("id-2"))), Unacceptable::Request("id-2".into()));
    assert_eq!(refused(&reader, &answer(None)), Unacceptable::Request(String::new()));
    let other = Said { in_response_to: Some("id-2".into()), ..said() };
    let mixed =
        Said { in_response_to: Some("id-1".into()), ..said() }.response(&provider.signed(&other.assertion(), "a1"));
    assert_eq!(refused(&reader, &mixed), Unacceptable::Request("id-2".into()), "the assertion says it too");
    assert_eq!(
        Reader::of(&provider).name(&answer(Some("id-2"))),
        "ann-at-work",
        "to nobody's request it may be anything"
    );
}

#[test]
fn b6_what_makes_the_reference_break_down_is_refused() {
    let reader = Reader::of(&IdentityProvider::new(IDP));
    for (xml, expected) in [
        (respond_with(|it| without(&it, "<saml:Conditions", "</saml:Conditions>")), Unacceptable::NoConditions),
        (respond_with(|it| without(&it, "<saml:Subject>", "</saml:Subject>")), Unacceptable::NoSubject),
        (
            respond_with(|it| without(&it, "<saml:SubjectConfirmationData", "</saml:SubjectConfirmationData>")),
            Unacceptable::EmptyConfirmation,
        ),
    ] {
        assert_eq!(refused(&reader, &xml), expected);
    }
    let anonymous = respond_with(|it| without(&it, "<saml:Issuer>", "</saml:Issuer>"));
    assert!(reader.read(&anonymous).is_err());
}

#[test]
fn b6_what_the_reference_does_not_ask_for_is_asked_for_by_serve() {
    let reader = Reader::of(&IdentityProvider::new(IDP));
    let restriction = "<saml:AudienceRestriction><saml:Audience>other</saml:Audience></saml:AudienceRestriction>";
    for (xml, expected) in [
        (
            respond_with(|it| without(&it, "<saml:AudienceRestriction>", "</saml:AudienceRestriction>")),
            Unacceptable::NoAudience,
        ),
        (
            respond_with(|it| {
                it.replacen("<saml:AudienceRestriction>", &format!("{restriction}<saml:AudienceRestriction>"), 1)
            }),
            Unacceptable::Audience(vec!["other".into(), "http://auth.example.com/sso/saml/metadata".into()]),
        ),
        (
            respond_with(|it| without(&it, "<saml:SubjectConfirmation ", "</saml:SubjectConfirmation>")),
            Unacceptable::Unconfirmed,
        ),
        (respond_with(|it| it.replace(":cm:bearer", ":cm:holder-of-key")), Unacceptable::Unconfirmed),
        (
            respond_with(|it| {
                it.replacen(
                    "SubjectConfirmationData NotOnOrAfter",
                    "SubjectConfirmationData NotBefore=\"2026-06-01T12:03:01Z\" NotOnOrAfter",
                    1,
                )
            }),
            Unacceptable::Early,
        ),
        (respond(|it| it.issued = 181), Unacceptable::Future),
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
        assert_eq!(reader.name(&respond_with(|it| it.replacen(from, to, 1))), "ann-at-work");
    }
}

#[test]
fn all_that_is_said_is_read() {
    let provider = IdentityProvider::new(IDP);
    let assertion = Reader::of(&provider)
        .read(&provider.respond(&Said {
            name: "Ann & <co>".into(),
            session_ends: Some(3600),
            attributes: vec![("groups".into(), vec!["staff".into(), String::new(), " chess".into()])],
            ..said()
        }))
        .expect("accepted");
    assert_eq!(assertion.name.as_ref().map(|it| it.value.as_str()), Some("Ann & <co>"));
    assert_eq!(assertion.session_ends, Some(super::now() + chrono::TimeDelta::hours(1)));
    assert_eq!((assertion.id.as_str(), assertion.issuer.as_str()), ("a1", IDP));
    assert_eq!(assertion.attributes[0].values, ["staff", "", " chess"]);
}

#[test]
fn g3_hostile_xml_is_not_read() {
    let reader = Reader::of(&IdentityProvider::new(IDP));
    let signed = respond(|_| {});
    let entity = |it| format!("<!ENTITY l{it} \"{}\">", format!("&l{};", it - 1).repeat(10));
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
        assert!(matches!(refusal, Refusal::Malformed(_) | Refusal::NoResponse), "{refusal}");
    }
}

#[test]
fn g3_of_many_assertions_none_is_looked_at() {
    let provider = IdentityProvider::new(IDP);
    let reader = Reader::of(&provider);
    let evil = Said { id: "e".into(), ..said() }.assertion();
    let signed = provider.signed(&said().assertion(), "a1");
    assert_eq!(reader.name(&said().response(&format!("{}{signed}", evil.repeat(7)))), "ann-at-work");
    let many = said().response(&format!("{}{signed}", evil.repeat(8)));
    assert_eq!(reader.read(&many).unwrap_err(), Refusal::TooManyAssertions(9));
    assert_eq!(reader.read(&said().response("")).unwrap_err(), Refusal::NoAssertion);
}
