//! Secrets at rest: what the reference wrote can be read, and nothing that was touched.

use std::collections::BTreeMap;

use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::sealing::{SealingError, open, seal};
use gotrue_rules::domain::policy::Encryption;
use gotrue_rules::domain::secret::SecretKey;
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
fn what_another_implementation_wrote_is_read() {
    let opened = open(FOREIGN, OWNER, &keys(None)).expect("a value");
    assert_eq!((opened.plain.as_ref(), opened.is_outdated), ("JBSWY3DPEHPK3PXP", false));
    assert!(!open(FOREIGN, OWNER, &keys(Some("k1"))).expect("a value").is_outdated);
    assert!(open(FOREIGN, OWNER, &keys(Some("k2"))).expect("a value").is_outdated);
    assert!(!format!("{opened:?}").contains("JBSW"));
}

#[test]
fn a_value_belongs_to_its_row_and_its_key() {
    assert_eq!(open(FOREIGN, Uuid::nil(), &keys(None)), Err(SealingError::Broken("k1".to_owned())));
    assert_eq!(open(FOREIGN, OWNER, &Encryption::default()), Err(SealingError::UnknownKey("k1".to_owned())));
    let other_key = FOREIGN.replace("k1", "k2");
    assert_eq!(open(&other_key, OWNER, &keys(None)), Err(SealingError::Broken("k2".to_owned())));
}

#[test]
fn without_a_key_values_stay_as_they_are() {
    let entropy = Entropy::from_seed(1);
    assert_eq!(seal("secret", OWNER, &keys(None), &entropy), "secret");
    for plain in [
        "$2a$04$g.TFDs/9zNIQ.UiHqwuMK.pJr/Nmvaw5hoeYWyim2.kyNilbcJCT6",
        "",
        "{}",
        "{\"key_id\":1}",
        &FOREIGN.replace("aes-gcm-hkdf", "rot13"),
    ] {
        let opened = open(plain, OWNER, &keys(None)).expect("a value");
        assert_eq!((opened.plain.as_ref(), opened.is_outdated), (plain, false));
        assert!(
            open(plain, OWNER, &keys(Some("k1"))).expect("a value").is_outdated,
            "in the clear though there is a key"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_sealed_opens_and_shows_nothing(plain in "\\PC{0,80}", seed in any::<u64>()) {
        let sealed = seal(&plain, OWNER, &keys(Some("k2")), &Entropy::from_seed(seed));
        prop_assert!(plain.len() < 8 || !sealed.contains(&plain));
        let opened = open(&sealed, OWNER, &keys(Some("k2"))).expect("a value");
        prop_assert_eq!((opened.plain.as_ref(), opened.is_outdated), (plain.as_str(), false));
    }

    #[test]
    fn a_value_changed_in_one_place_is_never_read_as_another(at in any::<prop::sample::Index>(), put in proptest::char::range(' ', '~')) {
        let at = at.index(FOREIGN.len());
        let changed = format!("{}{put}{}", &FOREIGN[..at], &FOREIGN[at + 1..]);
        if let Ok(opened) = open(&changed, OWNER, &keys(None)) {
            let harmless = opened.plain == "JBSWY3DPEHPK3PXP" || opened.plain == changed.as_str();
            prop_assert!(harmless, "{changed}");
        }
    }
}
