//! Assertions encrypted for us.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gotrue_rs::testing::identity_provider::{Cipher, IdentityProvider, NEXT_SERVICE_KEY, SERVICE_KEY, encrypted};
use gotrue_rules::domain::saml::decryption::{ReadingKey, Sealed};
use gotrue_rules::domain::saml::signature::BadSignature;
use gotrue_rules::domain::saml::{Refusal, XENC};
use proptest::prelude::*;

use super::{IDP, Reader, said};

fn keys() -> Vec<ReadingKey> {
    [SERVICE_KEY, NEXT_SERVICE_KEY]
        .map(|key| ReadingKey::of_pkcs1(&STANDARD.decode(key).expect("base64")).expect("an RSA key"))
        .into()
}

fn signed() -> String {
    IdentityProvider::new(IDP).signed(&said().assertion(), "a1")
}

fn reader() -> Reader {
    Reader::of(&IdentityProvider::new(IDP)).in_serve()
}

#[test]
fn an_encrypted_assertion_is_read_with_either_of_our_keys() {
    for (key, cipher) in [(SERVICE_KEY, Cipher::Gcm), (SERVICE_KEY, Cipher::Cbc), (NEXT_SERVICE_KEY, Cipher::Gcm)] {
        let xml = said().response(&encrypted(&signed(), key, cipher));
        let assertion = reader().read_with(&xml, &keys()).expect("accepted");
        assert_eq!(assertion.name.expect("a name").value, "ann-at-work");
        assert_eq!(reader().read(&xml).unwrap_err(), Sealed::Unwanted.into(), "unless nobody asked for such");
    }
}

#[test]
fn b6_to_encrypt_is_not_to_sign() {
    let provider = IdentityProvider::new(IDP);
    let sealed = encrypted(&said().assertion(), SERVICE_KEY, Cipher::Gcm);
    let unsigned = said().response(&sealed);
    assert_eq!(reader().read_with(&unsigned, &keys()).unwrap_err(), BadSignature::Absent.into());
    let stranger = IdentityProvider::stranger(IDP).signed(&said().assertion(), "a1");
    let xml = said().response(&encrypted(&stranger, SERVICE_KEY, Cipher::Gcm));
    assert_eq!(reader().read_with(&xml, &keys()).unwrap_err(), BadSignature::OtherKey.into());
    let vouched_for = provider.signed(&unsigned, "ra1");
    assert!(reader().read_with(&vouched_for, &keys()).is_ok(), "the signature of the response covers it");
    let another = encrypted(&said().assertion().replace("ann", "bob"), SERVICE_KEY, Cipher::Gcm);
    assert_eq!(
        reader().read_with(&vouched_for.replace(&sealed, &another), &keys()).unwrap_err(),
        BadSignature::Changed.into()
    );
}

#[test]
fn what_does_not_open_is_refused() {
    let stranger = include_str!("../../../src/testing/saml_keys/stranger.key");
    let xml = said().response(&encrypted(&signed(), stranger, Cipher::Gcm));
    assert_eq!(reader().read_with(&xml, &keys()).unwrap_err(), Sealed::Unopened.into());
    let good = said().response(&encrypted(&signed(), SERVICE_KEY, Cipher::Gcm));
    for (from, to) in [
        (format!("{XENC}rsa-oaep-mgf1p"), format!("{XENC}rsa-1_5")),
        ("http://www.w3.org/2009/xmlenc11#aes256-gcm".to_owned(), format!("{XENC}tripledes-cbc")),
    ] {
        let refusal = reader().read_with(&good.replacen(&from, &to, 1), &keys()).unwrap_err();
        assert_eq!(refusal, Refusal::Sealed(Sealed::Algorithm(to)));
    }
    for inside in ["hello", "<a></a>", "", "<!DOCTYPE a><a></a>"] {
        let xml = said().response(&encrypted(inside, SERVICE_KEY, Cipher::Cbc));
        assert!(reader().read_with(&xml, &keys()).is_err(), "{inside}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn g4_no_sealed_bytes_make_the_reader_panic(at in 0_usize..6000, to in "[A-Za-z0-9+/=<> ]{0,3}", chains in any::<bool>()) {
        let cipher = if chains { Cipher::Cbc } else { Cipher::Gcm };
        let mut xml = said().response(&encrypted(&signed(), SERVICE_KEY, cipher));
        let start = at.min(xml.len());
        xml.replace_range(start..(start + to.len()).min(xml.len()), &to);
        if let Ok(assertion) = reader().read_with(&xml, &keys()) {
            prop_assert_eq!(assertion.name.map(|name| name.value).unwrap_or_default(), "ann-at-work");
        }
    }
}
