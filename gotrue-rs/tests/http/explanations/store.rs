//! The store of explanations.

use platform::explanation::ExplanationStore;
use serde_json::{Value, json};

#[test]
fn link_is_below_the_base_url() {
    let store = ExplanationStore::new("http://127.0.0.1:54321/w/a/", "x");
    let link = store.insert(json!({"code": "c"}));
    assert_eq!(link, "http://127.0.0.1:54321/w/a/_dev/explain/x1");
    let found: Value = serde_json::from_str(&store.find("x1").expect("it is kept")).expect("JSON");
    assert_eq!(found, json!({"code": "c", "id": "x1", "link": link}));
    assert_eq!(store.find("x2"), None);
}

#[test]
fn oldest_explanations_are_removed_by_number_and_by_size() {
    let store = ExplanationStore::new("", "");
    for _ in 0..1_003 {
        store.insert(json!({}));
    }
    assert_eq!((store.find("3"), store.find("4").is_some()), (None, true));
    let large = "x".repeat(64 * 1024);
    for _ in 0..200 {
        store.insert(json!({"message": large}));
    }
    let kept: usize = store.list(usize::MAX).iter().map(|json| json.len()).sum();
    assert!(kept <= 4 * 1024 * 1024 && kept > 2 * 1024 * 1024, "{kept}");
}

#[test]
fn large_explanation_loses_its_statements_and_inputs() {
    let store = ExplanationStore::new("", "");
    let large = "x".repeat(128 * 1024);
    store.insert(json!({"code": "c", "decision": {"name": "d", "inputs": {"a": large}}}));
    let found: Value = serde_json::from_str(&store.find("1").expect("it is kept")).expect("JSON");
    assert_eq!((&found["code"], &found["decision"]), (&json!("c"), &json!({"name": "d", "inputs": {}})));
}
