//! The table of keys has no two rows of a kind.

use super::*;

#[test]
fn star_matches_only_names_of_its_table() {
    assert!(find_key(&["auth", "external", "github", "client_id"]).is_some());
    assert!(find_key(&["auth", "external", "gitbub", "client_id"]).is_none());
    assert!(find_key(&["functions", "send-submission", "verify_jwt"]).is_some());
    assert!(find_key(&["auth", "sms", "test_otp", "4152127777"]).is_some());
    assert!(is_table(&["auth", "hook", "send_sms"]));
    assert!(!is_table(&["auth", "hooks"]));
}

#[test]
fn keys_and_settings_are_unique() {
    let mut paths: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
    let mut names: Vec<&str> = KEYS
        .iter()
        .filter_map(|key| match key.usage {
            KeyUsage::Setting(name, _) | KeyUsage::Negated(name, _) => Some(name),
            KeyUsage::Custom | KeyUsage::Ignored => None,
        })
        .collect();
    for list in [&mut paths, &mut names] {
        list.sort_unstable();
        let before = list.len();
        list.dedup();
        assert_eq!(list.len(), before);
    }
}
