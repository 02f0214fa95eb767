//! XML signatures: valid and invalid forms.

use aws_lc_rs::digest;
use gotrue_rs::testing::identity_provider::{
    ENVELOPED, EXCLUSIVE, IdentityProvider, OLD_CERTIFICATE, SHA256, SamlAssertion, Signing, key_info,
};
use gotrue_rules::domain::saml::certificate::Certificate;
use gotrue_rules::domain::saml::{DSIG, SamlError, SignatureError};

use super::{IDP, Reader, assertion};

/// Signed with RSA and SHA-1, by the provider of these tests.
const WITH_SHA1: &str = include_str!("sha1_response.xml");

fn signed_as(signing: &Signing) -> String {
    let provider = IdentityProvider::new(IDP);
    assertion().response_xml(&provider.signed_as(&assertion().assertion_xml(), "a1", signing))
}

#[track_caller]
fn refused(xml: &str) -> SignatureError {
    match Reader::of(&IdentityProvider::new(IDP)).read(xml) {
        Err(SamlError::Signature(bad)) => bad,
        other => panic!("{other:?}"),
    }
}

fn sha1_digest() -> Signing {
    let name = "http://www.w3.org/2000/09/xmldsig#sha1";
    Signing { digest: (&digest::SHA1_FOR_LEGACY_USE_ONLY, name), ..Signing::default() }
}

#[test]
fn signed_assertion_response_or_both_are_accepted() {
    let provider = IdentityProvider::new(IDP);
    let reader = Reader::of(&provider).in_serve();
    let unsigned = assertion().assertion_xml();
    let signed = provider.signed(&unsigned, "a1");
    for xml in [
        assertion().response_xml(&signed),
        provider.signed(&assertion().response_xml(&unsigned), "ra1"),
        provider.signed(&assertion().response_xml(&signed), "ra1"),
        signed_as(&Signing::with_sha512()),
        signed_as(&Signing { key_info: Some(String::new()), ..Signing::default() }),
        signed_as(&Signing {
            key_info: Some("<ds:KeyInfo><ds:KeyName>k</ds:KeyName></ds:KeyInfo>".into()),
            ..Signing::default()
        }),
    ] {
        assert_eq!(reader.name(&xml), "ann-at-work");
    }
}

#[test]
fn empty_reference_uri_signs_the_root_element() {
    let provider = IdentityProvider::new(IDP);
    let by_none = Signing { uri: Some(String::new()), ..Signing::default() };
    let response = provider.signed_as(&assertion().response_xml(&assertion().assertion_xml()), "ra1", &by_none);
    assert_eq!(Reader::of(&provider).name(&response), "ann-at-work");
    assert_eq!(refused(&signed_as(&by_none)), SignatureError::WrongReference);
}

#[test]
fn b6_unsigned_response_is_refused() {
    assert_eq!(refused(&assertion().response_xml(&assertion().assertion_xml())), SignatureError::Missing);
    let provider = IdentityProvider::new(IDP);
    for xml in [
        provider.signed_response(&assertion()).replace("ann-at-work", "bob"),
        provider.signed_response(&assertion()).replace("ann@example.com", "bob@example.com"),
        provider.signed_response(&assertion()).replacen("NotBefore=", "X=\"1\" NotBefore=", 1),
    ] {
        assert_eq!(refused(&xml), SignatureError::DigestMismatch);
    }
    let signed = provider.signed_response(&assertion());
    let value = signed.split_once("<ds:DigestValue>").map(|(_, rest)| &rest[..44]).expect("a digest");
    let other = refused(&signed.replace(value, &format!("{}=", "A".repeat(43))));
    assert_eq!(other, SignatureError::InvalidValue, "the digest is signed too");
}

#[test]
fn b6_signature_of_unknown_key_is_refused() {
    let unrelated = IdentityProvider::with_unrelated_key(IDP);
    assert_eq!(
        refused(&unrelated.signed_response(&assertion())),
        SignatureError::UnknownCertificate,
        "the key that it brings is not looked at"
    );
    let unsigned = assertion().assertion_xml();
    for key_info in [String::new(), key_info(IdentityProvider::new(IDP).certificate)] {
        let signing = Signing { key_info: Some(key_info), ..Signing::default() };
        assert_eq!(
            refused(&assertion().response_xml(&unrelated.signed_as(&unsigned, "a1", &signing))),
            SignatureError::InvalidValue
        );
    }
    let value = "<ds:KeyInfo><ds:KeyValue><ds:RSAKeyValue><ds:Modulus>AQAB</ds:Modulus><ds:Exponent>AQAB</ds:Exponent>\
                 </ds:RSAKeyValue></ds:KeyValue></ds:KeyInfo>";
    let signing = Signing { key_info: Some(value.into()), ..Signing::default() };
    assert_eq!(
        refused(&assertion().response_xml(&unrelated.signed_as(&unsigned, "a1", &signing))),
        SignatureError::InvalidValue
    );
}

#[test]
fn signature_must_name_a_known_certificate() {
    let (provider, next) = (IdentityProvider::new(IDP), IdentityProvider::with_unrelated_key(IDP));
    let mut reader = Reader::of(&provider);
    reader.certificates.extend(Reader::of(&next).certificates);
    assert_eq!(reader.name(&provider.signed_response(&assertion())), "ann-at-work");
    assert_eq!(reader.name(&next.signed_response(&assertion())), "ann-at-work");
    let unnamed = Signing { key_info: Some(String::new()), ..Signing::default() };
    let xml = assertion().response_xml(&provider.signed_as(&assertion().assertion_xml(), "a1", &unnamed));
    assert_eq!(reader.read(&xml).unwrap_err(), SignatureError::UnknownCertificate.into());
    reader.certificates.clear();
    assert_eq!(reader.read(&provider.signed_response(&assertion())).unwrap_err(), SignatureError::NoCertificate.into());
}

#[test]
fn b6_expired_certificate_is_refused() {
    let provider = IdentityProvider::new(IDP);
    let old = Certificate::from_base64(OLD_CERTIFICATE).expect("a certificate");
    let reader = Reader { certificates: vec![old], ..Reader::of(&provider) };
    let signing = Signing { key_info: Some(key_info(OLD_CERTIFICATE)), ..Signing::default() };
    let xml = assertion().response_xml(&provider.signed_as(&assertion().assertion_xml(), "a1", &signing));
    assert_eq!(reader.read(&xml).unwrap_err(), SignatureError::CertificateNotValid.into());
}

#[test]
fn b6_sha1_is_accepted_unless_disabled() {
    let reader = Reader::of(&IdentityProvider::new(IDP));
    for xml in [signed_as(&sha1_digest()), WITH_SHA1.trim().to_owned()] {
        assert_eq!(reader.name(&xml), "ann-at-work", "as the reference does");
        let refused = reader.clone().in_serve().read(&xml).unwrap_err();
        assert!(matches!(refused, SamlError::Signature(SignatureError::Algorithm(_))), "{refused}");
    }
}

#[test]
fn b6_unknown_algorithms_and_transforms_are_refused() {
    let method = |name| Signing { method: (Signing::default().method.0, name), ..Signing::default() };
    let transforms = |transforms: &[&'static str]| Signing { transforms: transforms.to_vec(), ..Signing::default() };
    for signing in [
        method("http://www.w3.org/2000/09/xmldsig#hmac-sha1"),
        method("http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"),
        method("http://www.w3.org/2001/04/xmldsig-more#rsa-md5"),
        method("none"),
        method(""),
        Signing { digest: (&digest::SHA256, "http://www.w3.org/2001/04/xmldsig-more#md5"), ..Signing::default() },
        transforms(&[ENVELOPED, "http://www.w3.org/TR/1999/REC-xslt-19991116"]),
        transforms(&[ENVELOPED, "http://www.w3.org/TR/1999/REC-xpath-19991116"]),
        transforms(&[ENVELOPED, EXCLUSIVE, EXCLUSIVE]),
    ] {
        let bad = refused(&signed_as(&signing));
        assert!(matches!(bad, SignatureError::Algorithm(_)), "{bad}");
    }
    for signing in [transforms(&[]), transforms(&[EXCLUSIVE]), transforms(&[EXCLUSIVE, ENVELOPED])] {
        assert_eq!(refused(&signed_as(&signing)), SignatureError::WrongReference);
    }
}

#[test]
fn b6_signature_covers_only_its_parent_element() {
    for uri in
        ["#other", "#", "", "a1", "#xpointer(/)", "#xpointer(id('a1'))", "https://evil.example.com/a", "/etc/passwd"]
    {
        let signing = Signing { uri: Some(uri.into()), ..Signing::default() };
        assert_eq!(refused(&signed_as(&signing)), SignatureError::WrongReference, "{uri}");
    }
    let more = format!(
        "<ds:Reference URI=\"#x\"><ds:DigestMethod Algorithm=\"{SHA256}\"></ds:DigestMethod><ds:DigestValue>AAAA\
         </ds:DigestValue></ds:Reference>"
    );
    let two = signed_as(&Signing { more, ..Signing::default() });
    let refusal = Reader::of(&IdentityProvider::new(IDP)).read(&two).unwrap_err();
    assert_eq!(refusal, SamlError::ElementCount { name: "Reference", parent: "SignedInfo", times: 2 });
    let shared = assertion().response_xml(&format!(
        "{}<saml:Advice xmlns:saml=\"urn:x\" Id=\"a1\"></saml:Advice>",
        IdentityProvider::new(IDP).signed(&assertion().assertion_xml(), "a1")
    ));
    assert_eq!(refused(&shared), SignatureError::SharedId);
    let unnamed = SamlAssertion { id: String::new(), ..assertion() };
    let xml = unnamed.response_xml(&IdentityProvider::new(IDP).signed(&unnamed.assertion_xml(), ""));
    assert_eq!(refused(&xml), SignatureError::WrongReference);
}

#[test]
fn duplicate_signature_parts_are_refused() {
    let provider = IdentityProvider::new(IDP);
    let signed = provider.signed_response(&assertion());
    let (_, rest) = signed.split_once("<ds:SignedInfo>").expect("what is signed");
    let info = format!("<ds:SignedInfo>{}</ds:SignedInfo>", rest.split_once("</ds:SignedInfo>").expect("its end").0);
    for (name, twice) in [
        ("SignedInfo", signed.replacen(&info, &info.repeat(2), 1)),
        (
            "SignatureValue",
            signed.replacen("<ds:SignatureValue>", "<ds:SignatureValue></ds:SignatureValue><ds:SignatureValue>", 1),
        ),
        ("KeyInfo", signed.replacen("<ds:KeyInfo>", "<ds:KeyInfo></ds:KeyInfo><ds:KeyInfo>", 1)),
        (
            "Signature",
            signed.replacen(
                "<ds:Signature ",
                &format!("<ds:Signature xmlns:ds=\"{DSIG}\"></ds:Signature><ds:Signature "),
                1,
            ),
        ),
    ] {
        match Reader::of(&provider).read(&twice).unwrap_err() {
            SamlError::ElementCount { name: reported, times: 2, .. } => assert_eq!(reported, name),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn changes_removed_by_canonicalization_are_accepted() {
    let provider = IdentityProvider::new(IDP);
    let signed = provider.signed_response(&assertion());
    for same in [
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{signed}\n"),
        signed.replacen("ann-at-work", "ann<!-- not the end -->-at-work", 1),
        signed.replacen("ann-at-work", "<![CDATA[ann]]>-at&#45;work", 1),
        signed.replacen("</saml:Subject><", "</saml:Subject ><", 1),
        signed.replacen("ID=\"a1\" IssueInstant", "ID='a1'  IssueInstant", 1),
    ] {
        assert_eq!(Reader::of(&provider).name(&same), "ann-at-work", "{same}");
    }
}

#[test]
fn b6_xml_comment_does_not_truncate_the_name_id() {
    let provider = IdentityProvider::new(IDP);
    let reported = SamlAssertion { name: "ann@example.com.evil.example.com".into(), ..assertion() };
    let cut = provider.signed_response(&reported).replacen(".com.evil", ".com<!-- -->.evil", 1);
    assert_eq!(Reader::of(&provider).name(&cut), "ann@example.com.evil.example.com");
}

/// Limits the work before the signature is verified.
///
/// Searching each of many prefixes at each of many elements would take minutes for one response.
#[test]
fn g3_inclusive_namespace_prefixes_are_limited() {
    let method = format!("<ds:CanonicalizationMethod Algorithm=\"{EXCLUSIVE}\">");
    let listing = |many: usize| {
        let list = (0..many).map(|number| format!("p{number}")).collect::<Vec<_>>().join(" ");
        let more = format!("{method}<e:InclusiveNamespaces xmlns:e=\"{EXCLUSIVE}\" PrefixList=\"{list}\"/>");
        signed_as(&Signing::default()).replacen(&method, &more, 1)
    };
    assert_eq!(refused(&listing(32)), SignatureError::InvalidValue, "the list is not signed");
    assert_eq!(refused(&listing(33)), SignatureError::TooManyPrefixes);
    let elements = "<a/>".repeat(15_000);
    let begun = std::time::Instant::now();
    let heavy = listing(50_000).replacen("</ds:SignedInfo>", &format!("{elements}</ds:SignedInfo>"), 1);
    assert_eq!(refused(&heavy), SignatureError::TooManyPrefixes);
    assert!(begun.elapsed().as_secs() < 30);
}
