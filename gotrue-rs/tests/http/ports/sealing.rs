//! Secrets at rest: what the reference wrote can be read, and nothing that was touched.

use std::collections::BTreeMap;

use foundation::encryption::Encryption;
use foundation::secret::SecretKey;
use platform::entropy::Entropy;
use platform::sealing::{SealingError, seal, unseal};
use proptest::prelude::*;
use uuid::{Uuid, uuid};

const OWNER: Uuid = uuid!("11111111-2222-4333-8444-555555555555");
/// Written by another implementation, key 00 01 … 1f.
const FOREIGN: &str = r#"{"key_id":"k1","alg":"aes-gcm-hkdf","data":"Z4wmkZVJrIEOfH3LqSrqxKICuAeP/qQSaiwzKqO6plQ=","nonce":"ZGVmZ2hpamtsbW5v"}"#;

fn keys(encrypt_with: Option<&str>) -> Encryption {
    let ascending: [u8; 32] = std::array::from_fn(|at| u8::try_from(at).expect("a small number"));
    let all = [("k1", ascending), ("k2", [7; 32])];
    let keys: BTreeMap<String, SecretKey> =
        all.into_iter().map(|(id, key)| (id.to_owned(), SecretKey::new(key))).collect();
    Encryption { encrypt_with: encrypt_with.map(str::to_owned), keys }
}

#[test]
fn values_of_another_implementation_are_decrypted() {
    let opened = unseal(FOREIGN, OWNER, &keys(None)).expect("a value");
    assert_eq!((opened.plain.as_ref(), opened.is_outdated), ("JBSWY3DPEHPK3PXP", false));
    assert!(!unseal(FOREIGN, OWNER, &keys(Some("k1"))).expect("a value").is_outdated);
    assert!(unseal(FOREIGN, OWNER, &keys(Some("k2"))).expect("a value").is_outdated);
    assert!(!format!("{opened:?}").contains("JBSW"));
}

#[test]
fn value_is_bound_to_its_row_and_key() {
    assert_eq!(unseal(FOREIGN, Uuid::nil(), &keys(None)), Err(SealingError::Broken("k1".to_owned())));
    assert_eq!(unseal(FOREIGN, OWNER, &Encryption::default()), Err(SealingError::UnknownKey("k1".to_owned())));
    let other_key = FOREIGN.replace("k1", "k2");
    assert_eq!(unseal(&other_key, OWNER, &keys(None)), Err(SealingError::Broken("k2".to_owned())));
}

#[test]
fn values_stay_plain_without_a_key() {
    let entropy = Entropy::from_seed(1);
    assert_eq!(seal("secret", OWNER, &keys(None), &entropy), "secret");
    for plain in [
        "$2a$04$g.TFDs/9zNIQ.UiHqwuMK.pJr/Nmvaw5hoeYWyim2.kyNilbcJCT6",
        "",
        "{}",
        "{\"key_id\":1}",
        &FOREIGN.replace("aes-gcm-hkdf", "rot13"),
    ] {
        let opened = unseal(plain, OWNER, &keys(None)).expect("a value");
        assert_eq!((opened.plain.as_ref(), opened.is_outdated), (plain, false));
        assert!(
            unseal(plain, OWNER, &keys(Some("k1"))).expect("a value").is_outdated,
            "in the clear though there is a key"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn encrypted_value_round_trips_and_reveals_nothing(plain in "\\PC{0,80}", seed in any::<u64>()) {
        let sealed = seal(&plain, OWNER, &keys(Some("k2")), &Entropy::from_seed(seed));
        prop_assert!(plain.len() < 8 || !sealed.contains(&plain));
        let opened = unseal(&sealed, OWNER, &keys(Some("k2"))).expect("a value");
        prop_assert_eq!((opened.plain.as_ref(), opened.is_outdated), (plain.as_str(), false));
    }

    #[test]
    fn mutated_value_is_refused(at in any::<prop::sample::Index>(), put in proptest::char::range(' ', '~')) {
        let at = at.index(FOREIGN.len());
        let changed = format!("{}{put}{}", &FOREIGN[..at], &FOREIGN[at + 1..]);
        if let Ok(opened) = unseal(&changed, OWNER, &keys(None)) {
            let harmless = opened.plain == "JBSWY3DPEHPK3PXP" || opened.plain == changed.as_str();
            prop_assert!(harmless, "{changed}");
        }
    }
}
