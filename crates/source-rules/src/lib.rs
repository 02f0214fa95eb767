//! Source files of the repository, for tests of rules that hold for the whole tree.
//!
//! The rules themselves are in `tests/rules`; they need neither the product nor a database:
//! `cargo test --package source-rules`. Rules about statements, errors and settings are tests of `gotrue-rs`.

mod tokens;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub use self::tokens::{code_and_comments, is_word_character, string_literals};

/// The folders of the crates of the workspace.
pub static CRATES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let (_, members) = MANIFEST.split_once("\nmembers = [").expect("the manifest lists the members");
    let (members, _) = members.split_once(']').expect("the list ends");
    let names = members.split('"').skip(1).step_by(2);
    names.filter(|name| repository_root().join(name).join("src").is_dir()).collect()
});

const MANIFEST: &str = include_str!("../../../Cargo.toml");

/// The root of the repository.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the crate lies in the repository")
}

/// The files below `folder` with one of these endings, without built and installed files.
pub fn list_files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
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
pub fn read_text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a source without the bodies of its unit tests: `mod tests {` below `#[cfg(test)]`.
///
/// The line `mod tests;` names another file, and what follows it is no test.
pub fn without_unit_tests(text: &str) -> String {
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
pub fn relative_path(path: &Path) -> String {
    path.strip_prefix(repository_root()).unwrap_or(path).display().to_string()
}

/// Whether a source defines a test with this name that is not ignored.
pub fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = uncommented_lines(text).into_iter().map(str::trim_start).collect();
    let is_definition = |line: &str| {
        let line = line.trim_start_matches("async ");
        line.strip_prefix("fn ").and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.starts_with('('))
    };
    lines.iter().enumerate().any(|(at, line)| {
        let attributes: Vec<&str> =
            lines[..at].iter().rev().take_while(|line| line.starts_with("#[")).copied().collect();
        let is_test = attributes
            .iter()
            .any(|attribute| attribute.starts_with("#[test]") || attribute.starts_with("#[tokio::test"));
        is_definition(line) && is_test && !attributes.iter().any(|attribute| attribute.starts_with("#[ignore"))
    })
}

fn uncommented_lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn tests_are_recognised_by_their_attribute() {
        let source = "#[tokio::test]\nasync fn one() {}\n#[test]\nfn two() {}\nfn three() {}\n#[test]\n#[ignore]\nfn four() {}\n";
        let found: Vec<&str> =
            ["one", "two", "three", "four", "on"].into_iter().filter(|name| has_test(source, name)).collect();
        assert_eq!(found, ["one", "two"]);
    }
}
