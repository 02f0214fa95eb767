//! Signatures: which hold, and which only look so.

use aws_lc_rs::digest;
use gotrue_rs::testing::identity_provider::{
    ENVELOPED, EXCLUSIVE, IdentityProvider, OLD_CERTIFICATE, SHA256, Said, Signing, key_info,
};
use gotrue_rules::domain::saml::certificate::Certificate;
use gotrue_rules::domain::saml::signature::BadSignature;
use gotrue_rules::domain::saml::{DSIG, Refusal};

use super::{IDP, Reader, said};

/// Signed with RSA and SHA-1, by the provider of these tests.
const WITH_SHA1: &str = include_str!("sha1_response.xml");

fn signed_as(signing: &Signing) -> String {
    let provider = IdentityProvider::new(IDP);
    said().response(&provider.signed_as(&said().assertion(), "a1", signing))
}

#[track_caller]
fn refused(xml: &str) -> BadSignature {
    match Reader::of(&IdentityProvider::new(IDP)).read(xml) {
        Err(Refusal::Signature(bad)) => bad,
        other => panic!("{other:?}"),
    }
}

fn sha1_digest() -> Signing {
    let name = "http://www.w3.org/2000/09/xmldsig#sha1";
    Signing { digest: (&digest::SHA1_FOR_LEGACY_USE_ONLY, name), ..Signing::default() }
}

#[test]
fn the_assertion_the_response_or_both_are_signed() {
    let provider = IdentityProvider::new(IDP);
    let reader = Reader::of(&provider).in_serve();
    let assertion = said().assertion();
    let signed = provider.signed(&assertion, "a1");
    for xml in [
        said().response(&signed),
        provider.signed(&said().response(&assertion), "ra1"),
        provider.signed(&said().response(&signed), "ra1"),
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
fn the_outermost_element_may_be_signed_without_naming_it() {
    let provider = IdentityProvider::new(IDP);
    let by_none = Signing { uri: Some(String::new()), ..Signing::default() };
    let response = provider.signed_as(&said().response(&said().assertion()), "ra1", &by_none);
    assert_eq!(Reader::of(&provider).name(&response), "ann-at-work");
    assert_eq!(refused(&signed_as(&by_none)), BadSignature::Elsewhere);
}

#[test]
fn b6_what_nobody_signed_is_not_believed() {
    assert_eq!(refused(&said().response(&said().assertion())), BadSignature::Absent);
    let provider = IdentityProvider::new(IDP);
    for xml in [
        provider.respond(&said()).replace("ann-at-work", "bob"),
        provider.respond(&said()).replace("ann@example.com", "bob@example.com"),
        provider.respond(&said()).replacen("NotBefore=", "X=\"1\" NotBefore=", 1),
    ] {
        assert_eq!(refused(&xml), BadSignature::Changed);
    }
    let signed = provider.respond(&said());
    let value = signed.split_once("<ds:DigestValue>").map(|(_, rest)| &rest[..44]).expect("a digest");
    let other = refused(&signed.replace(value, &format!("{}=", "A".repeat(43))));
    assert_eq!(other, BadSignature::Forged, "the digest is signed too");
}

#[test]
fn b6_another_key_vouches_for_nothing() {
    let stranger = IdentityProvider::stranger(IDP);
    assert_eq!(refused(&stranger.respond(&said())), BadSignature::OtherKey, "the key that it brings is not looked at");
    let assertion = said().assertion();
    for key_info in [String::new(), key_info(IdentityProvider::new(IDP).certificate)] {
        let signing = Signing { key_info: Some(key_info), ..Signing::default() };
        assert_eq!(refused(&said().response(&stranger.signed_as(&assertion, "a1", &signing))), BadSignature::Forged);
    }
    let value = "<ds:KeyInfo><ds:KeyValue><ds:RSAKeyValue><ds:Modulus>AQAB</ds:Modulus><ds:Exponent>AQAB</ds:Exponent>\
                 </ds:RSAKeyValue></ds:KeyValue></ds:KeyInfo>";
    let signing = Signing { key_info: Some(value.into()), ..Signing::default() };
    assert_eq!(refused(&said().response(&stranger.signed_as(&assertion, "a1", &signing))), BadSignature::Forged);
}

#[test]
fn of_several_certificates_the_signature_names_one_that_is_known() {
    let (provider, next) = (IdentityProvider::new(IDP), IdentityProvider::stranger(IDP));
    let mut reader = Reader::of(&provider);
    reader.certificates.extend(Reader::of(&next).certificates);
    assert_eq!(reader.name(&provider.respond(&said())), "ann-at-work");
    assert_eq!(reader.name(&next.respond(&said())), "ann-at-work");
    let unnamed = Signing { key_info: Some(String::new()), ..Signing::default() };
    let xml = said().response(&provider.signed_as(&said().assertion(), "a1", &unnamed));
    assert_eq!(reader.read(&xml).unwrap_err(), BadSignature::OtherKey.into());
    reader.certificates.clear();
    assert_eq!(reader.read(&provider.respond(&said())).unwrap_err(), BadSignature::NoKey.into());
}

#[test]
fn b6_a_certificate_that_has_ended_vouches_for_nothing() {
    let provider = IdentityProvider::new(IDP);
    let old = Certificate::read(OLD_CERTIFICATE).expect("a certificate");
    let reader = Reader { certificates: vec![old], ..Reader::of(&provider) };
    let signing = Signing { key_info: Some(key_info(OLD_CERTIFICATE)), ..Signing::default() };
    let xml = said().response(&provider.signed_as(&said().assertion(), "a1", &signing));
    assert_eq!(reader.read(&xml).unwrap_err(), BadSignature::OutOfDate.into());
}

#[test]
fn b6_sha1_is_believed_only_where_it_is_not_refused() {
    let reader = Reader::of(&IdentityProvider::new(IDP));
    for xml in [signed_as(&sha1_digest()), WITH_SHA1.trim().to_owned()] {
        assert_eq!(reader.name(&xml), "ann-at-work", "as the reference does");
        let refused = reader.clone().in_serve().read(&xml).unwrap_err();
        assert!(matches!(refused, Refusal::Signature(BadSignature::Algorithm(_))), "{refused}");
    }
}

#[test]
fn b6_no_other_algorithms_and_transforms_are_known() {
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
        assert!(matches!(bad, BadSignature::Algorithm(_)), "{bad}");
    }
    for signing in [transforms(&[]), transforms(&[EXCLUSIVE]), transforms(&[EXCLUSIVE, ENVELOPED])] {
        assert_eq!(refused(&signed_as(&signing)), BadSignature::Elsewhere);
    }
}

#[test]
fn b6_a_signature_is_of_its_own_element_and_of_that_alone() {
    for uri in
        ["#other", "#", "", "a1", "#xpointer(/)", "#xpointer(id('a1'))", "https://evil.example.com/a", "/etc/passwd"]
    {
        let signing = Signing { uri: Some(uri.into()), ..Signing::default() };
        assert_eq!(refused(&signed_as(&signing)), BadSignature::Elsewhere, "{uri}");
    }
    let more = format!(
        "<ds:Reference URI=\"#x\"><ds:DigestMethod Algorithm=\"{SHA256}\"></ds:DigestMethod><ds:DigestValue>AAAA\
         </ds:DigestValue></ds:Reference>"
    );
    let two = signed_as(&Signing { more, ..Signing::default() });
    let refusal = Reader::of(&IdentityProvider::new(IDP)).read(&two).unwrap_err();
    assert_eq!(refusal, Refusal::Times { name: "Reference", parent: "SignedInfo", times: 2 });
    let shared = said().response(&format!(
        "{}<saml:Advice xmlns:saml=\"urn:x\" Id=\"a1\"></saml:Advice>",
        IdentityProvider::new(IDP).signed(&said().assertion(), "a1")
    ));
    assert_eq!(refused(&shared), BadSignature::SharedId);
    let unnamed = Said { id: String::new(), ..said() };
    let xml = unnamed.response(&IdentityProvider::new(IDP).signed(&unnamed.assertion(), ""));
    assert_eq!(refused(&xml), BadSignature::Elsewhere);
}

#[test]
fn a_signature_has_each_part_once() {
    let provider = IdentityProvider::new(IDP);
    let signed = provider.respond(&said());
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
            Refusal::Times { name: said, times: 2, .. } => assert_eq!(said, name),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn what_the_canonical_form_leaves_out_may_change() {
    let provider = IdentityProvider::new(IDP);
    let signed = provider.respond(&said());
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
fn b6_a_comment_does_not_cut_a_name_short() {
    let provider = IdentityProvider::new(IDP);
    let said = Said { name: "ann@example.com.evil.example.com".into(), ..said() };
    let cut = provider.respond(&said).replacen(".com.evil", ".com<!-- -->.evil", 1);
    assert_eq!(Reader::of(&provider).name(&cut), "ann@example.com.evil.example.com");
}

/// G3: how a signature is to be read is looked at before anybody knows who wrote it. Were each of many prefixes looked for
/// at each of many elements, one response would keep a core busy for minutes.
#[test]
fn g3_no_more_prefixes_are_listed_than_can_be_declared() {
    let method = format!("<ds:CanonicalizationMethod Algorithm=\"{EXCLUSIVE}\">");
    let listing = |many: usize| {
        let list = (0..many).map(|it| format!("p{it}")).collect::<Vec<_>>().join(" ");
        let more = format!("{method}<e:InclusiveNamespaces xmlns:e=\"{EXCLUSIVE}\" PrefixList=\"{list}\"/>");
        signed_as(&Signing::default()).replacen(&method, &more, 1)
    };
    assert_eq!(refused(&listing(32)), BadSignature::Forged, "nobody signed the list");
    assert_eq!(refused(&listing(33)), BadSignature::TooManyPrefixes);
    let elements = "<a/>".repeat(15_000);
    let begun = std::time::Instant::now();
    let heavy = listing(50_000).replacen("</ds:SignedInfo>", &format!("{elements}</ds:SignedInfo>"), 1);
    assert_eq!(refused(&heavy), BadSignature::TooManyPrefixes);
    assert!(begun.elapsed().as_secs() < 30);
}
