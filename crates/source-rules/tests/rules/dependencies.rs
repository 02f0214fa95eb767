//! Dependencies that only some files or only tests may use, and the table of crates in `docs/architecture.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use source_rules::{code_and_comments, is_word_character};

/// The only file that may use the crate `rsa` (`docs/decisions/0083-rsa-signs-saml-requests-only.md`).
const RSA_FILE: &str = "gotrue-rs/src/ports/saml/sha1_signature.rs";

#[test]
fn crate_rsa_is_used_in_one_file() {
    let root = source_rules::repository_root();
    let files = source_rules::list_files(&root, &[".rs"]);
    let using: Vec<String> = files
        .iter()
        .filter(|path| uses_crate(&code_and_comments(&source_rules::read_text(path)).0, "rsa"))
        .map(|path| source_rules::relative_path(path))
        .collect();
    assert_eq!(using, [RSA_FILE], "files that use the crate rsa, which is not constant-time");
}

#[test]
fn crate_rsa_is_a_dependency_of_one_crate() {
    let depending: Vec<String> = manifests()
        .into_iter()
        .filter(|(_, text)| text.lines().any(|line| line.starts_with("rsa.") || line.starts_with("rsa =")))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(depending, ["Cargo.toml", "gotrue-rs/Cargo.toml"]);
}

/// The crates whose code may call the auth API in the process: the program, the desk and the test bench.
const AUTH_CRATE_USERS: [&str; 3] =
    ["crates/basalt/Cargo.toml", "crates/desk/Cargo.toml", "crates/test-bench/Cargo.toml"];

/// The crates of the repository that `platform` may import.
const PLATFORM_DEPENDENCIES: [&str; 3] = ["foundation", "http-edge", "telemetry"];

#[test]
fn only_named_crates_depend_on_the_auth_crate() {
    let mut depending: Vec<String> = manifests()
        .into_iter()
        .filter(|(name, text)| name != "Cargo.toml" && dependencies(text).contains(&"gotrue-rs"))
        .map(|(name, _)| name)
        .collect();
    depending.sort();
    assert_eq!(depending, AUTH_CRATE_USERS);
}

#[test]
fn platform_depends_on_no_service() {
    let manifests = manifests();
    let is_crate = |name: &str| manifests.iter().any(|(_, text)| package_name(text) == name);
    let text = &manifests.iter().find(|(name, _)| name == "crates/platform/Cargo.toml").expect("the manifest").1;
    let own: Vec<&str> = dependencies(text).into_iter().filter(|name| is_crate(name)).collect();
    assert_eq!(own, PLATFORM_DEPENDENCIES);
}

/// Manifests that the table of crates leaves out: they are not compiled into the binary by their own name, or not at all.
const OUTSIDE_THE_TABLE: [&str; 3] = ["Cargo.toml", "crates/no-built-in-roots/Cargo.toml", "packages/rust/Cargo.toml"];

/// What the last column of the table of crates does not name, because every crate may use it.
const FOUNDATION: &str = "foundation";

#[test]
fn architecture_names_the_dependencies_of_each_crate() {
    let manifests = manifests();
    let crates: BTreeMap<&str, BTreeSet<&str>> = manifests
        .iter()
        .filter(|(path, _)| !OUTSIDE_THE_TABLE.contains(&path.as_str()))
        .map(|(_, text)| (package_name(text), dependencies(text).into_iter().collect()))
        .collect();
    let names: BTreeSet<&str> = crates.keys().copied().collect();
    let imported: BTreeMap<&str, BTreeSet<&str>> = crates
        .iter()
        .map(|(name, all)| (*name, all.intersection(&names).copied().filter(|other| *other != FOUNDATION).collect()))
        .collect();

    let document = source_rules::read_text(&source_rules::repository_root().join("docs/architecture.md"));
    assert_eq!(documented_dependencies(&document), imported, "correct the table of crates in docs/architecture.md");
}

#[test]
fn dependencies_in_the_table_of_crates_are_found() {
    let table = "## Folders\n| `x` | `y` |\n## Crates\n\n| crate | content | depends on |\n|---|---|---|\n\
                 | `a` | what `c` has | – |\n| `b` | | `a` (its types) |\n| `d` | | all but `a` |\n## Layers\n| `e` | | `f` |\n";
    let expected = [("a", vec![]), ("b", vec!["a"]), ("d", vec!["b"])];
    assert_eq!(documented_dependencies(table), expected.map(|(name, of)| (name, of.into_iter().collect())).into());
}

#[test]
fn dependencies_of_a_manifest_are_found() {
    let manifest =
        "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nb = \"1\"\n[dev-dependencies]\nc = \"1\"\n";
    assert_eq!(dependencies(manifest), ["a", "b"]);
}

#[test]
fn only_dev_dependencies_enable_test_support() {
    let enabling: Vec<String> = manifests()
        .iter()
        .flat_map(|(name, text)| features_outside_tests(text).into_iter().map(move |line| format!("{name}: {line}")))
        .collect();
    assert!(enabling.is_empty(), "the feature `testing` belongs in [dev-dependencies]:\n{}", enabling.join("\n"));
}

#[test]
fn uses_of_a_crate_are_found() {
    for code in
        ["use rsa::Key;", "use ::rsa::Key;", "rsa::sign()", "use rsa as other;", "use rsa;", "extern crate rsa;"]
    {
        assert!(uses_crate(code, "rsa"), "{code}");
    }
    for code in
        ["use aws_lc_rs::rsa::Key;", "use crate::rsa::Key;", "fn rsa() {}", "let rsa = key;", "use rsa_other::Key;"]
    {
        assert!(!uses_crate(code, "rsa"), "{code}");
    }
}

#[test]
fn test_support_outside_dev_dependencies_is_found() {
    let enabled = "a = { path = \".\", features = [\"testing\"] }";
    assert_eq!(features_outside_tests(&format!("[dev-dependencies]\n{enabled}\n")), [""; 0]);
    assert_eq!(features_outside_tests(&format!("[dependencies]\n{enabled}\n")), [enabled]);
    assert_eq!(features_outside_tests(&format!("[dev-dependencies]\n\n[dependencies]\n{enabled}\n")), [enabled]);
    assert_eq!(features_outside_tests("[features]\ntesting = []\n"), [""; 0]);
    assert_eq!(features_outside_tests("[features]\ntesting = [\"platform/testing\"]\n"), [""; 0]);
    assert_eq!(features_outside_tests("[features]\ndefault = [\"testing\"]\n"), ["default = [\"testing\"]"]);
}

/// Whether the code names a crate: a path that starts with it, or its import.
fn uses_crate(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        let before = before.strip_suffix("::").filter(|path| !path.ends_with(is_word_character)).unwrap_or(before);
        let starts_path = !before.ends_with(is_word_character) && !before.ends_with("::");
        let is_imported = ["use", "crate"].iter().any(|word| before.trim_end().ends_with(word));
        let ends_name = !after.starts_with(is_word_character);
        starts_path && ends_name && (after.starts_with("::") || is_imported)
    })
}

/// The crates of the table below `## Crates` with those that their last column names; `all but` turns a list around.
fn documented_dependencies(document: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let section = document.split("\n## ").find(|section| section.starts_with("Crates\n")).unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `")).filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        Some((*quoted(cells.first()?).first()?, *cells.last()?))
    });
    let rows: Vec<(&str, &str)> = rows.collect();
    let named = |name: &str, cell| {
        let listed: BTreeSet<&str> = quoted(cell).into_iter().collect();
        if !cell.starts_with("all but") {
            return listed;
        }
        let others = rows.iter().map(|(other, _)| *other).filter(|other| *other != name && *other != FOUNDATION);
        others.filter(|other| !listed.contains(other)).collect()
    };
    rows.iter().map(|(name, cell)| (*name, named(name, cell))).collect()
}

/// The parts of a text that are code in Markdown.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The name of the package of a manifest; empty for that of the workspace.
fn package_name(manifest: &str) -> &str {
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = "));
    name.unwrap_or_default().trim_matches('"')
}

/// The names below `[dependencies]`, without those for tests and for build scripts.
fn dependencies(manifest: &str) -> Vec<&str> {
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let names = lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#'));
    names.filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|name| !name.is_empty()).collect()
}

/// The lines of a manifest that enable the feature `testing` outside `[dev-dependencies]`.
fn features_outside_tests(manifest: &str) -> Vec<&str> {
    let mut is_for_tests = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_for_tests = line.contains("dev-dependencies");
        } else if line.contains("testing\"") && !is_for_tests && !line.starts_with("testing = [") {
            found.push(line);
        }
    }
    found
}

/// The manifests of the workspace and its crates, with their paths from the root.
fn manifests() -> Vec<(String, String)> {
    let root = source_rules::repository_root();
    let is_ours = |path: &Path| !path.starts_with(root.join("tools/bench"));
    let files = source_rules::list_files(&root, &["Cargo.toml"]).into_iter().filter(|path| is_ours(path));
    files.map(|path| (source_rules::relative_path(&path), source_rules::read_text(&path))).collect()
}
