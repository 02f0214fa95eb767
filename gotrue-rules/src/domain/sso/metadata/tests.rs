use proptest::prelude::*;

use super::*;

const CERTIFICATE: &str = "MIIC\n  wTCC\t";

fn key(attributes: &str) -> String {
    format!(
        r#"<KeyDescriptor{attributes}><KeyInfo xmlns="{DSIG}"><X509Data><X509Certificate>{CERTIFICATE}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>"#
    )
}

fn service(binding: &str, location: &str) -> String {
    format!(r#"<SingleSignOnService Binding="{binding}" Location="{location}"/>"#)
}

fn entity(attributes: &str, inside: &str) -> String {
    format!(r#"<EntityDescriptor xmlns="{METADATA}" {attributes}>{inside}</EntityDescriptor>"#)
}

fn descriptor(inside: &str) -> String {
    format!("<IDPSSODescriptor>{inside}</IDPSSODescriptor>")
}

fn usual(attributes: &str) -> String {
    let inside = key(r#" use="signing""#) + &service(REDIRECT, "https://idp.example.com/sso");
    entity(&format!(r#"entityID="https://idp.example.com" {attributes}"#), &descriptor(&inside))
}

fn refused(text: &str) -> (u16, String) {
    let error = Error::from(IdentityProvider::read(text).unwrap_err());
    (error.status(), error.message().to_owned())
}

#[test]
fn a_description_is_read() {
    let read = IdentityProvider::read(&usual("")).unwrap();
    assert_eq!(
        read,
        IdentityProvider {
            entity_id: "https://idp.example.com".into(),
            sign_on: Some("https://idp.example.com/sso".into()),
            certificates: vec!["MIICwTCC".into()],
            valid_until: None,
            cache_duration: None,
        }
    );
    let marked = format!("\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- hello -->{}\n", usual(""));
    assert_eq!(IdentityProvider::read(&marked).unwrap(), read);
}

#[test]
fn a_list_is_searched_for_an_identity_provider() {
    let list = |inside: &str| format!(r#"<EntitiesDescriptor xmlns="{METADATA}">{inside}</EntitiesDescriptor>"#);
    let service = entity(r#"entityID="https://sp.example.com""#, "<SPSSODescriptor/>");
    for text in [list(&usual("")), list(&(service.clone() + &usual("")))] {
        assert_eq!(IdentityProvider::read(&text).unwrap().entity_id, "https://idp.example.com");
    }
    for text in [list(""), list(&service), list(&list(&usual("")))] {
        assert_eq!(IdentityProvider::read(&text), Err(BadMetadata::SomethingElse));
    }
}

#[test]
fn what_is_no_description_is_refused_as_recorded() {
    let nothing = "Unexpected failure, please check server logs for more information";
    let two = entity(r#"entityID="e""#, &descriptor("").repeat(2));
    for (text, status, message) in [
        ("hello", 500, nothing),
        ("", 500, nothing),
        ("<html>", 500, nothing),
        ("<hello/>", 500, nothing),
        ("<EntityDescriptor entityID=\"e\"/>", 500, nothing),
        (&entity("", &descriptor("")), 400, "SAML Metadata does not contain an EntityID"),
        (&entity(r#"entityID="""#, &descriptor("")), 400, "SAML Metadata does not contain an EntityID"),
        (&entity(r#"entityID="e""#, ""), 400, "SAML Metadata does not contain any IDPSSODescriptor"),
        (&two, 400, "SAML Metadata contains multiple IDPSSODescriptors"),
        (&usual(r#"validUntil="soon""#), 400, "SAML Metadata contains a validUntil that cannot be read"),
        (&usual(r#"cacheDuration="1h""#), 400, "SAML Metadata contains a cacheDuration that cannot be read"),
    ] {
        assert_eq!(refused(text), (status, message.to_owned()), "{text}");
    }
}

#[test]
fn entities_are_neither_declared_nor_fetched() {
    for declared in [
        "<!DOCTYPE x>".to_owned(),
        r#"<!DOCTYPE x [<!ENTITY a "b">]>"#.to_owned(),
        r#"<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>"#.to_owned(),
        r#"<!DOCTYPE x SYSTEM "https://evil.example.com/x.dtd">"#.to_owned(),
    ] {
        let (status, message) = refused(&format!("{declared}{}", usual("")));
        assert_eq!((status, &*message), (400, "SAML Metadata must not contain a document type declaration"));
    }
    let undeclared = usual("").replace("https://idp.example.com/sso", "https://idp.example.com/&a;");
    assert_eq!(refused(&undeclared).0, 500);
    let named = usual("").replace("https://idp.example.com/sso", "https://idp.example.com/?a&amp;b");
    let sign_on = IdentityProvider::read(&named).unwrap().sign_on;
    assert_eq!(sign_on.as_deref(), Some("https://idp.example.com/?a&b"), "the five of XML itself are known");
}

#[test]
fn browsers_are_sent_to_addresses_of_the_web_only() {
    let of = |services: &str| IdentityProvider::read(&entity(r#"entityID="e""#, &descriptor(services)));
    let post = service("urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST", "https://idp.example.com/post");
    assert_eq!(of(&post).unwrap().sign_on, None);
    let both = post + &service(REDIRECT, "http://idp.example.com/a") + &service(REDIRECT, "https://idp.example.com/b");
    assert_eq!(of(&both).unwrap().sign_on.as_deref(), Some("http://idp.example.com/a"));
    for location in ["javascript:alert(1)", "data:text/html,x", "", "/sso", "ftp://idp.example.com", "https:"] {
        assert_eq!(of(&service(REDIRECT, location)), Err(BadMetadata::Location), "{location}");
    }
}

#[test]
fn only_certificates_for_signatures_count() {
    let of = |keys: &str| IdentityProvider::read(&entity(r#"entityID="e""#, &descriptor(keys))).unwrap().certificates;
    assert_eq!(of(&(key("") + &key(r#" use="signing""#) + &key(r#" use="encryption""#))).len(), 2);
    let split = key("").replace(CERTIFICATE, "MIIC<!-- x -->wTCC");
    assert_eq!(of(&split), ["MIICwTCC"], "a comment does not cut a text off");
    assert!(of(&key("").replace(CERTIFICATE, " ")).is_empty());
}

#[test]
fn durations_are_as_xml_schema_writes_them() {
    for (text, seconds) in [
        ("PT1H", Some(3600.0)),
        ("P1D", Some(86_400.0)),
        ("P1Y2M3DT4H5M6.5S", Some(365.0 * 86_400.0 + 63.0 * 86_400.0 + 4.0 * 3600.0 + 306.5)),
        ("-PT1M", Some(-60.0)),
        ("PT0S", Some(0.0)),
        ("PT0.25S", Some(0.25)),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("1H", None),
        ("P1H", None),
        ("PT1D", None),
        ("PT1M1H", None),
        ("PT1.5H", None),
        ("PTxS", None),
        ("P99999999999999999999Y", None),
        ("P9999999999999Y", None),
        ("", None),
    ] {
        let read = duration(text).map(TimeDelta::as_seconds_f64);
        assert_eq!(read, seconds, "{text}");
    }
}

#[test]
fn a_description_is_stale_when_it_says_so_or_after_a_day() {
    let stored = Time::UNIX_EPOCH + TimeDelta::days(20_000);
    let until = |hours| format!(r#"validUntil="{}""#, (stored + TimeDelta::hours(hours)).to_rfc3339());
    for (attributes, hours, stale) in [
        (String::new(), 24, false),
        (String::new(), 25, true),
        (until(48), 47, false),
        (until(48), 49, true),
        (r#"cacheDuration="PT2H""#.to_owned(), 2, false),
        (r#"cacheDuration="PT2H""#.to_owned(), 3, true),
        (until(48) + r#" cacheDuration="PT2H""#, 3, true),
        (until(1) + r#" cacheDuration="P7D""#, 3, true),
        (r#"cacheDuration="PT0S""#.to_owned(), 25, true),
    ] {
        let read = IdentityProvider::read(&usual(&attributes)).unwrap();
        assert_eq!(read.is_stale(stored, stored + TimeDelta::hours(hours)), stale, "{attributes} {hours}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in any::<String>()) {
        prop_assert!(IdentityProvider::read(&text).is_err());
    }

    #[test]
    fn no_piece_of_a_description_is_too_odd(
        at in 0_usize..900,
        length in 0_usize..40,
        inserted in "[<>/&;!\"'= A-Za-z\u{0}\u{feff}\\[\\]-]{0,12}",
    ) {
        let mut text = usual(r#"validUntil="2026-06-01T12:00:00Z" cacheDuration="PT1H""#);
        let start = at.min(text.len());
        let end = (start + length).min(text.len());
        text.replace_range(start..end, &inserted);
        if let Ok(read) = IdentityProvider::read(&text) {
            prop_assert!(!read.entity_id.is_empty());
            prop_assert!(read.certificates.iter().all(|it| !it.contains(char::is_whitespace)));
        }
    }

    #[test]
    fn what_is_written_is_read(
        entity_id in "[a-z:/.<>&\"' é]{1,40}",
        path in "[a-zA-Z0-9/?=&]{0,20}",
        seconds in 1_i64..1_000_000,
    ) {
        let escape = |text: &str| {
            text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
        };
        let location = format!("https://idp.example.com/{path}");
        let inside = descriptor(&service(REDIRECT, &escape(&location)));
        let attributes = format!(r#"entityID="{}" cacheDuration="PT{seconds}S""#, escape(&entity_id));
        let read = IdentityProvider::read(&entity(&attributes, &inside)).unwrap();
        prop_assert_eq!(read.entity_id, entity_id);
        prop_assert_eq!(read.sign_on, Some(location));
        prop_assert_eq!(read.cache_duration, Some(TimeDelta::seconds(seconds)));
    }

    #[test]
    fn every_duration_that_is_read_has_digits(text in "-?P?[0-9YMDTHS.]{0,16}") {
        if duration(&text).is_some() {
            prop_assert!(text.contains(|letter: char| letter.is_ascii_digit()));
        }
    }
}
