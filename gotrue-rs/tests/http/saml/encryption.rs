//! Encrypted assertions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gotrue_rs::testing::identity_provider::{
    Cipher, IdentityProvider, NEXT_SERVICE_KEY, SERVICE_KEY, encrypt_assertion,
};
use gotrue_rules::domain::saml::decryption::DecryptionKey;
use gotrue_rules::domain::saml::{DecryptionError, SamlError, SignatureError, XENC};
use proptest::prelude::*;

use super::{IDP, Reader, assertion};

fn keys() -> Vec<DecryptionKey> {
    [SERVICE_KEY, NEXT_SERVICE_KEY]
        .map(|key| DecryptionKey::from_pkcs1(&STANDARD.decode(key).expect("base64")).expect("an RSA key"))
        .into()
}

fn signed() -> String {
    IdentityProvider::new(IDP).signed(&assertion().assertion_xml(), "a1")
}

fn reader() -> Reader {
    Reader::of(&IdentityProvider::new(IDP)).in_serve()
}

#[test]
fn encrypted_assertion_is_decrypted_with_either_key() {
    for (key, cipher) in [(SERVICE_KEY, Cipher::Gcm), (SERVICE_KEY, Cipher::Cbc), (NEXT_SERVICE_KEY, Cipher::Gcm)] {
        let xml = assertion().response_xml(&encrypt_assertion(&signed(), key, cipher));
        let assertion = reader().read_with(&xml, &keys()).expect("accepted");
        assert_eq!(assertion.name_id.expect("a name").value, "ann-at-work");
        assert_eq!(reader().read(&xml).unwrap_err(), DecryptionError::NotAccepted.into(), "unless none was requested");
    }
}

#[test]
fn b6_encryption_does_not_replace_a_signature() {
    let provider = IdentityProvider::new(IDP);
    let sealed = encrypt_assertion(&assertion().assertion_xml(), SERVICE_KEY, Cipher::Gcm);
    let unsigned = assertion().response_xml(&sealed);
    assert_eq!(reader().read_with(&unsigned, &keys()).unwrap_err(), SignatureError::Missing.into());
    let unrelated = IdentityProvider::with_unrelated_key(IDP).signed(&assertion().assertion_xml(), "a1");
    let xml = assertion().response_xml(&encrypt_assertion(&unrelated, SERVICE_KEY, Cipher::Gcm));
    assert_eq!(reader().read_with(&xml, &keys()).unwrap_err(), SignatureError::UnknownCertificate.into());
    let vouched_for = provider.signed(&unsigned, "ra1");
    assert!(reader().read_with(&vouched_for, &keys()).is_ok(), "the signature of the response covers it");
    let another = encrypt_assertion(&assertion().assertion_xml().replace("ann", "bob"), SERVICE_KEY, Cipher::Gcm);
    assert_eq!(
        reader().read_with(&vouched_for.replace(&sealed, &another), &keys()).unwrap_err(),
        SignatureError::DigestMismatch.into()
    );
}

#[test]
fn undecryptable_assertion_is_refused() {
    let unrelated = include_str!("../../../src/testing/saml_keys/stranger.key");
    let xml = assertion().response_xml(&encrypt_assertion(&signed(), unrelated, Cipher::Gcm));
    assert_eq!(reader().read_with(&xml, &keys()).unwrap_err(), DecryptionError::Failed.into());
    let good = assertion().response_xml(&encrypt_assertion(&signed(), SERVICE_KEY, Cipher::Gcm));
    for (from, to) in [
        (format!("{XENC}rsa-oaep-mgf1p"), format!("{XENC}rsa-1_5")),
        ("http://www.w3.org/2009/xmlenc11#aes256-gcm".to_owned(), format!("{XENC}tripledes-cbc")),
    ] {
        let refusal = reader().read_with(&good.replacen(&from, &to, 1), &keys()).unwrap_err();
        assert_eq!(refusal, SamlError::Decryption(DecryptionError::Algorithm(to)));
    }
    for inside in ["hello", "<a></a>", "", "<!DOCTYPE a><a></a>"] {
        let xml = assertion().response_xml(&encrypt_assertion(inside, SERVICE_KEY, Cipher::Cbc));
        assert!(reader().read_with(&xml, &keys()).is_err(), "{inside}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn g4_arbitrary_ciphertext_never_panics(at in 0_usize..6000, to in "[A-Za-z0-9+/=<> ]{0,3}", chains in any::<bool>()) {
        let cipher = if chains { Cipher::Cbc } else { Cipher::Gcm };
        let mut xml = assertion().response_xml(&encrypt_assertion(&signed(), SERVICE_KEY, cipher));
        let start = at.min(xml.len());
        xml.replace_range(start..(start + to.len()).min(xml.len()), &to);
        if let Ok(assertion) = reader().read_with(&xml, &keys()) {
            prop_assert_eq!(assertion.name_id.map(|name| name.value).unwrap_or_default(), "ann-at-work");
        }
    }
}
