//! `docs/compatibility.md` says of each endpoint whether it is served and where; this holds it to the route table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gotrue_rs::routes::lines;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

struct Told {
    served: bool,
    file: String,
    test: String,
}

fn told() -> BTreeMap<String, Told> {
    let document = std::fs::read_to_string(Path::new(CRATE).join("../docs/compatibility.md")).expect("the document");
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [endpoint, state @ ("served" | "not yet"), file, test, _] = cells[..] else { return None };
        Some((endpoint.to_owned(), Told { served: state == "served", file: file.into(), test: test.into() }))
    };
    document.lines().filter_map(row).collect()
}

#[test]
fn the_document_tells_exactly_what_is_served() {
    let served: BTreeSet<String> = lines().iter().map(|line| format!("{} {}", line.method, line.path)).collect();
    let claimed: BTreeSet<String> =
        told().into_iter().filter(|(_, told)| told.served).map(|(endpoint, _)| endpoint).collect();
    let untold: Vec<_> = served.difference(&claimed).collect();
    let overclaimed: Vec<_> = claimed.difference(&served).collect();
    assert!(untold.is_empty(), "served, but not told in docs/compatibility.md: {untold:?}");
    assert!(overclaimed.is_empty(), "told in docs/compatibility.md, but not served: {overclaimed:?}");
}

#[test]
fn the_files_and_tests_it_names_exist() {
    for (endpoint, told) in told().into_iter().filter(|(_, told)| told.served) {
        for place in [format!("src/{}", told.file), format!("tests/http/{}", told.test)] {
            assert!(Path::new(CRATE).join(&place).is_file(), "{endpoint}: gotrue-rs/{place} does not exist");
        }
    }
}
