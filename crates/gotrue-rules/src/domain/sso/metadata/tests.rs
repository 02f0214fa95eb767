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

fn metadata_with(attributes: &str) -> String {
    let inside = key(r#" use="signing""#) + &service(HTTP_REDIRECT_BINDING, "https://idp.example.com/sso");
    entity(&format!(r#"entityID="https://idp.example.com" {attributes}"#), &descriptor(&inside))
}

fn parse_error(text: &str) -> (u16, String) {
    let error = Error::from(IdentityProvider::parse(text).unwrap_err());
    (error.status(), error.message().to_owned())
}

#[test]
fn metadata_is_parsed() {
    let read = IdentityProvider::parse(&metadata_with("")).unwrap();
    assert_eq!(
        read,
        IdentityProvider {
            entity_id: "https://idp.example.com".into(),
            sign_on_url: Some("https://idp.example.com/sso".into()),
            certificates: vec!["MIICwTCC".into()],
            valid_until: None,
            cache_duration: None,
        }
    );
    let marked = format!("\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- hello -->{}\n", metadata_with(""));
    assert_eq!(IdentityProvider::parse(&marked).unwrap(), read);
}

#[test]
fn first_identity_provider_of_list_is_used() {
    let list = |inside: &str| format!(r#"<EntitiesDescriptor xmlns="{METADATA}">{inside}</EntitiesDescriptor>"#);
    let service = entity(r#"entityID="https://sp.example.com""#, "<SPSSODescriptor/>");
    for text in [list(&metadata_with("")), list(&(service.clone() + &metadata_with("")))] {
        assert_eq!(IdentityProvider::parse(&text).unwrap().entity_id, "https://idp.example.com");
    }
    for text in [list(""), list(&service), list(&list(&metadata_with("")))] {
        assert_eq!(IdentityProvider::parse(&text), Err(MetadataError::NotMetadata));
    }
}

#[test]
fn malformed_metadata_is_rejected_as_recorded() {
    let nothing = "Unexpected failure, please check server logs for more information";
    let two = entity(r#"entityID="e""#, &descriptor("").repeat(2));
    for (text, status, message) in [
        ("hello", 500, nothing),
        ("", 500, nothing),
        ("<html>", 500, nothing),
        ("<hello/>", 500, nothing),
        ("<EntityDescriptor entityID=\"e\"/>", 500, nothing),
        (&metadata_with("").repeat(2), 400, "SAML Metadata contains more than one root element"),
        (&format!("{}<a/>", metadata_with("")), 400, "SAML Metadata contains more than one root element"),
        (&entity("", &descriptor("")), 400, "SAML Metadata does not contain an EntityID"),
        (&entity(r#"entityID="""#, &descriptor("")), 400, "SAML Metadata does not contain an EntityID"),
        (&entity(r#"entityID="e""#, ""), 400, "SAML Metadata does not contain any IDPSSODescriptor"),
        (&two, 400, "SAML Metadata contains multiple IDPSSODescriptors"),
        (&metadata_with(r#"validUntil="soon""#), 400, "SAML Metadata contains a validUntil that cannot be read"),
        (&metadata_with(r#"cacheDuration="1h""#), 400, "SAML Metadata contains a cacheDuration that cannot be read"),
    ] {
        assert_eq!(parse_error(text), (status, message.to_owned()), "{text}");
    }
}

#[test]
fn document_type_and_entities_are_rejected() {
    for declared in [
        "<!DOCTYPE x>".to_owned(),
        r#"<!DOCTYPE x [<!ENTITY a "b">]>"#.to_owned(),
        r#"<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>"#.to_owned(),
        r#"<!DOCTYPE x SYSTEM "https://evil.example.com/x.dtd">"#.to_owned(),
    ] {
        let (status, message) = parse_error(&format!("{declared}{}", metadata_with("")));
        assert_eq!((status, &*message), (400, "SAML Metadata must not contain a document type declaration"));
    }
    let undeclared = metadata_with("").replace("https://idp.example.com/sso", "https://idp.example.com/&a;");
    assert_eq!(parse_error(&undeclared).0, 500);
    let named = metadata_with("").replace("https://idp.example.com/sso", "https://idp.example.com/?a&amp;b");
    let sign_on = IdentityProvider::parse(&named).unwrap().sign_on_url;
    assert_eq!(sign_on.as_deref(), Some("https://idp.example.com/?a&b"), "the five of XML itself are known");
}

#[test]
fn sign_on_url_must_be_http_or_https() {
    let of = |services: &str| IdentityProvider::parse(&entity(r#"entityID="e""#, &descriptor(services)));
    let post = service("urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST", "https://idp.example.com/post");
    assert_eq!(of(&post).unwrap().sign_on_url, None);
    let both = post
        + &service(HTTP_REDIRECT_BINDING, "http://idp.example.com/a")
        + &service(HTTP_REDIRECT_BINDING, "https://idp.example.com/b");
    assert_eq!(of(&both).unwrap().sign_on_url.as_deref(), Some("http://idp.example.com/a"));
    for location in ["javascript:alert(1)", "data:text/html,x", "", "/sso", "ftp://idp.example.com", "https:"] {
        assert_eq!(of(&service(HTTP_REDIRECT_BINDING, location)), Err(MetadataError::Location), "{location}");
    }
}

#[test]
fn only_signing_certificates_are_used() {
    let of = |keys: &str| IdentityProvider::parse(&entity(r#"entityID="e""#, &descriptor(keys))).unwrap().certificates;
    assert_eq!(of(&(key("") + &key(r#" use="signing""#) + &key(r#" use="encryption""#))).len(), 2);
    let split = key("").replace(CERTIFICATE, "MIIC<!-- x -->wTCC");
    assert_eq!(of(&split), ["MIICwTCC"], "a comment does not cut a text off");
    assert!(of(&key("").replace(CERTIFICATE, " ")).is_empty());
}

#[test]
fn xml_schema_durations_are_parsed() {
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
        let read = parse_duration(text).map(TimeDelta::as_seconds_f64);
        assert_eq!(read, seconds, "{text}");
    }
}

#[test]
fn metadata_is_stale_after_validity_or_one_day() {
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
        let read = IdentityProvider::parse(&metadata_with(&attributes)).unwrap();
        assert_eq!(read.is_stale(stored, stored + TimeDelta::hours(hours)), stale, "{attributes} {hours}");
    }
}

proptest! {
    #[test]
    fn arbitrary_text_is_rejected(text in any::<String>()) {
        prop_assert!(IdentityProvider::parse(&text).is_err());
    }

    #[test]
    fn modified_metadata_does_not_panic(
        at in 0_usize..900,
        length in 0_usize..40,
        inserted in "[<>/&;!\"'= A-Za-z\u{0}\u{feff}\\[\\]-]{0,12}",
    ) {
        let mut text = metadata_with(r#"validUntil="2026-06-01T12:00:00Z" cacheDuration="PT1H""#);
        let start = at.min(text.len());
        let end = (start + length).min(text.len());
        text.replace_range(start..end, &inserted);
        if let Ok(read) = IdentityProvider::parse(&text) {
            prop_assert!(!read.entity_id.is_empty());
            prop_assert!(read.certificates.iter().all(|certificate| !certificate.contains(char::is_whitespace)));
        }
    }

    #[test]
    fn metadata_round_trips(
        entity_id in "[a-z:/.<>&\"' é]{1,40}",
        path in "[a-zA-Z0-9/?=&]{0,20}",
        seconds in 1_i64..1_000_000,
    ) {
        let escape = |text: &str| {
            text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
        };
        let location = format!("https://idp.example.com/{path}");
        let inside = descriptor(&service(HTTP_REDIRECT_BINDING, &escape(&location)));
        let attributes = format!(r#"entityID="{}" cacheDuration="PT{seconds}S""#, escape(&entity_id));
        let read = IdentityProvider::parse(&entity(&attributes, &inside)).unwrap();
        prop_assert_eq!(read.entity_id, entity_id);
        prop_assert_eq!(read.sign_on_url, Some(location));
        prop_assert_eq!(read.cache_duration, Some(TimeDelta::seconds(seconds)));
    }

    #[test]
    fn parsed_durations_contain_digits(text in "-?P?[0-9YMDTHS.]{0,16}") {
        if parse_duration(&text).is_some() {
            prop_assert!(text.contains(|character: char| character.is_ascii_digit()));
        }
    }
}
