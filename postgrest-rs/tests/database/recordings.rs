//! The scenarios that `make replay` compares with answers of PostgREST 14.17 over `tests/recordings/schema.sql`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

const SCENARIOS: &str = include_str!("../recordings/scenarios.json");

/// The table of features in `docs/compatibility.md` names each group of recordings, and files that exist.
#[test]
fn every_group_belongs_to_a_feature_of_the_documents() {
    const DOCUMENT: &str = include_str!("../../../docs/compatibility.md");
    let features = DOCUMENT.split("| feature | recordings | further tests |").nth(1).unwrap();
    let features = features.split("\n\n").next().unwrap();
    let named: BTreeSet<&str> = features.split('`').skip(1).step_by(2).collect();
    let book: Value = serde_json::from_str(SCENARIOS).unwrap();
    let scenarios = book["scenarios"].as_array().unwrap().iter();
    let groups: BTreeSet<&str> =
        scenarios.map(|scenario| scenario["name"].as_str().unwrap().split('.').next().unwrap()).collect();
    let missing: Vec<_> = groups.difference(&named).collect();
    assert!(missing.is_empty(), "docs/compatibility.md does not name {missing:?}");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_source = |name: &&&str| Path::new(name).extension().is_some_and(|extension| extension == "rs");
    for file in named.iter().filter(is_source) {
        let folder = if file.contains('/') { "" } else { "postgrest-rs/tests/database" };
        assert!(repository.join(folder).join(file).exists(), "{file} does not exist");
    }
}
