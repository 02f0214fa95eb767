//! Checks that the tests named in `docs/concurrency.md` exist.

use std::path::PathBuf;

use source_rules::{read_text, repository_root};

/// The cells of each row of a table of pairs.
fn rows(document: &str) -> Vec<Vec<&str>> {
    let row = |line: &&str| line.starts_with("| ") && !line.starts_with("| operations");
    document.lines().filter(row).map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The file of a test that is named by its path within the crate of HTTP tests, or after `storage::` within that of the storage
/// API.
fn file(modules: &[&str]) -> Option<PathBuf> {
    let (tests, modules) = match modules {
        ["storage", modules @ ..] => ("storage-rs/tests/api", modules),
        modules => ("gotrue-rs/tests/http", modules),
    };
    let folder = repository_root().join(tests).join(modules.join("/"));
    [folder.with_extension("rs"), folder.join("mod.rs")].into_iter().find(|file| file.is_file())
}

fn exists(test: &str) -> bool {
    let mut modules: Vec<&str> = test.split("::").collect();
    let name = modules.pop().unwrap_or_default();
    let Some(file) = file(&modules) else { return false };
    let source = read_text(&file);
    let function = format!("fn {name}(");
    source.split("\n\n").any(|item| item.contains(&function) && (item.contains("test]") || item.contains("test(")))
}

#[test]
fn every_pair_of_operations_names_tests_that_exist() {
    let document = read_text(&repository_root().join("docs/concurrency.md"));
    let rows = rows(&document);
    assert!(rows.len() > 30, "only {} pairs were found", rows.len());
    for row in rows {
        let [operations, outcome, enforced_by, tests] = row[..] else { panic!("not four cells: {row:?}") };
        assert!(!outcome.is_empty() && !enforced_by.is_empty(), "{operations}");
        let tests: Vec<&str> = tests.split(", ").map(|test| test.trim_matches('`')).collect();
        for test in tests {
            assert!(exists(test), "{operations}: there is no test {test}");
        }
    }
}
