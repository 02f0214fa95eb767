//! Compares `docs/compatibility.md` with the route table and the test files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gotrue_rs::routes::list_routes;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

struct DocumentedEndpoint {
    served: bool,
    file: String,
    test: String,
}

fn documented_endpoints() -> BTreeMap<String, DocumentedEndpoint> {
    let document = std::fs::read_to_string(Path::new(CRATE).join("../docs/compatibility.md")).expect("the document");
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [endpoint, state @ ("served" | "not yet"), file, test, _] = cells[..] else { return None };
        Some((
            endpoint.to_owned(),
            DocumentedEndpoint { served: state == "served", file: file.into(), test: test.into() },
        ))
    };
    document.lines().filter_map(row).collect()
}

#[test]
fn documentation_lists_exactly_the_served_endpoints() {
    let served: BTreeSet<String> = list_routes().iter().map(|line| format!("{} {}", line.method, line.path)).collect();
    let claimed: BTreeSet<String> = documented_endpoints()
        .into_iter()
        .filter(|(_, reported)| reported.served)
        .map(|(endpoint, _)| endpoint)
        .collect();
    let untold: Vec<_> = served.difference(&claimed).collect();
    let overclaimed: Vec<_> = claimed.difference(&served).collect();
    assert!(untold.is_empty(), "served, but not told in docs/compatibility.md: {untold:?}");
    assert!(overclaimed.is_empty(), "told in docs/compatibility.md, but not served: {overclaimed:?}");
}

#[test]
fn documented_files_and_tests_exist() {
    for (endpoint, reported) in documented_endpoints().into_iter().filter(|(_, reported)| reported.served) {
        for place in [format!("src/{}", reported.file), format!("tests/http/{}", reported.test)] {
            assert!(Path::new(CRATE).join(&place).is_file(), "{endpoint}: gotrue-rs/{place} does not exist");
        }
    }
}
