//! Source files of the repository, for the structure tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use platform::store::Statement;

use super::tokens::code_and_comments;

/// The folders of the crates of the workspace.
pub(crate) static CRATES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let (_, members) = MANIFEST.split_once("\nmembers = [").expect("the manifest lists the members");
    let (members, _) = members.split_once(']').expect("the list ends");
    let names = members.split('"').skip(1).step_by(2);
    names.filter(|name| repository_root().join(name).join("src").is_dir()).collect()
});

const MANIFEST: &str = include_str!("../../../../Cargo.toml");

#[test]
fn crates_of_the_workspace_are_found() {
    assert!(CRATES.len() > 15, "only {} crates were found", CRATES.len());
    for name in ["crates/basalt", "crates/foundation", "gotrue-rs", "postgrest-rs", "storage-rs"] {
        assert!(CRATES.contains(&name), "{name} is missing");
    }
}

#[test]
fn bodies_of_unit_tests_are_cut() {
    let inline = "const A: u8 = 1;\n#[cfg(test)]\nmod tests {\n    const B: &str = \"é}\";\n}\nconst C: u8 = 1;\n";
    assert_eq!(without_unit_tests(inline), "const A: u8 = 1;\n#[cfg(test)]\nconst C: u8 = 1;\n");
    let in_a_line = "#[cfg(test)]\n#[expect(lint)]\npub(super) mod tests { const A: u8 = 1; }\nconst B: u8 = 1;";
    assert_eq!(without_unit_tests(in_a_line), "#[cfg(test)]\n#[expect(lint)]\nconst B: u8 = 1;");
    let in_a_file = "#[cfg(test)]\nmod tests;\nmod other {\n    const A: u8 = 1;\n}\n";
    assert_eq!(without_unit_tests(in_a_file), in_a_file);
}

/// All statements of this crate and of the crate `platform`.
pub(crate) fn list_statements() -> impl Iterator<Item = &'static Statement> {
    gotrue_rs::store::list_statements().chain(platform::store::list_statements())
}

pub(crate) fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the crate lies in the repository")
}

/// The files below `folder` with one of these endings, without built and installed files.
pub(crate) fn list_files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    const NOT_OURS: [&str; 5] = ["target", "node_modules", "dist", ".git", ".basalt"];
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() && !NOT_OURS.contains(&&*name) {
            found.extend(list_files(&path, endings));
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a source without the bodies of its unit tests: `mod tests {` below `#[cfg(test)]`.
///
/// The line `mod tests;` names another file, and what follows it is no test.
pub(crate) fn without_unit_tests(text: &str) -> String {
    let (code, _) = code_and_comments(text);
    let (mut kept, mut depth, mut is_test) = (String::new(), 0, false);
    for (line, code) in text.split_inclusive('\n').zip(code.lines().map(str::trim)) {
        if depth > 0 || is_test && code.contains("mod tests {") {
            depth += code.matches('{').count();
            depth -= code.matches('}').count();
        } else {
            kept.push_str(line);
        }
        is_test = code == "#[cfg(test)]" || is_test && code.starts_with("#[");
    }
    kept
}

/// The path of a file from the root of the repository.
pub(crate) fn relative_path(path: &Path) -> String {
    path.strip_prefix(repository_root()).unwrap_or(path).display().to_string()
}
