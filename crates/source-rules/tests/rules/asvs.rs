//! Compares the tests that `docs/security/asvs.md` names with the test files.

use std::path::PathBuf;

use source_rules::{has_test, repository_root};

struct Section {
    name: String,
    status: String,
    evidence: String,
}

fn sections() -> Vec<Section> {
    let document = std::fs::read_to_string(repository_root().join("docs/security/asvs.md")).expect("the assessment");
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, status, evidence] = cells[..] else { return None };
        name.starts_with('V').then(|| Section { name: name.into(), status: status.into(), evidence: evidence.into() })
    };
    document.lines().filter_map(row).collect()
}

/// The tests that a row names: file and function.
fn named_tests(evidence: &str) -> Vec<(PathBuf, &str)> {
    let quoted = evidence.split('`').skip(1).step_by(2);
    quoted.filter_map(|text| text.split_once("::")).map(|(file, test)| (test_file(file), test)).collect()
}

fn test_file(name: &str) -> PathBuf {
    for (short, folder) in [("http/", "gotrue-rs/tests/http/"), ("serve/", "crates/basalt/tests/serve/")] {
        if let Some(rest) = name.strip_prefix(short) {
            return repository_root().join(folder).join(rest);
        }
    }
    repository_root().join(name)
}

#[test]
fn every_chapter_has_sections_with_a_known_status() {
    let sections = sections();
    for chapter in 1..=17 {
        let prefix = format!("V{chapter}.");
        assert!(sections.iter().any(|section| section.name.starts_with(&prefix)), "chapter {chapter} has no section");
    }
    for section in &sections {
        let is_known = ["met", "partly", "not met", "not applicable"].contains(&section.status.as_str());
        assert!(is_known, "{}: status {:?}", section.name, section.status);
        assert!(!section.evidence.is_empty(), "{}: no evidence and no reason", section.name);
    }
}

#[test]
fn met_sections_name_tests_and_every_named_test_exists() {
    for section in sections() {
        let tests = named_tests(&section.evidence);
        assert!(section.status != "met" || !tests.is_empty(), "{}: met, but no test is named", section.name);
        for (file, test) in tests {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(has_test(&text, test), "{}: there is no test {test} in {}", section.name, file.display());
        }
    }
}
