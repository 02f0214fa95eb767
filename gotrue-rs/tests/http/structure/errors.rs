//! Error codes are named by their enums only, and `docs/errors.md` is generated from them.

use std::collections::BTreeSet;
use std::path::Path;

use foundation::error::document::render_document;
use foundation::error::{ErrorCode, OAuthErrorCode};

use source_rules::{
    code_and_comments, is_word_character, list_files, read_text, relative_path, repository_root, string_literals,
    without_unit_tests,
};

/// The crates that respond with an [`ErrorCode`].
const API_CRATES: [&str; 6] =
    ["crates/foundation", "crates/gotrue-rules", "crates/platform", "gotrue-rs", "functions-rs", "crates/basalt"];

/// The crates that respond with an [`OAuthErrorCode`].
///
/// The provider for development in `crates/basalt` is another server.
const OAUTH_CRATES: [&str; 4] = ["crates/foundation", "crates/gotrue-rules", "crates/platform", "gotrue-rs"];

/// The files that define the texts of the codes.
const DEFINITIONS: [&str; 2] = ["crates/foundation/src/error/code.rs", "crates/foundation/src/error/oauth_code.rs"];

/// Literals that equal the text of a code and mean something else: file, text, reason.
const ALLOWED_LITERALS: &[(&str, &str, &str)] = &[
    ("crates/basalt/src/config_file/keys/settings_type.rs", "unknown", "a type of TypeScript"),
    ("crates/platform/src/limits/keys.rs", "unknown", "the key of clients without an address"),
    ("crates/gotrue-rules/src/domain/bulk/auth0.rs", "unknown", "the name of a factor that has none"),
    (
        "crates/basalt/src/parity/report.rs",
        "unknown",
        "the verdict of a setting that neither the reference nor Basalt knows",
    ),
];

fn error_codes() -> impl Iterator<Item = ErrorCode> {
    ErrorCode::SECTIONS.iter().flat_map(|section| section.codes).copied()
}

/// The sources of these crates without tests and without the definitions.
fn sources(crates: &[&str]) -> Vec<(String, String)> {
    let folder = |name: &&str| repository_root().join(name).join("src");
    let files = crates.iter().flat_map(|name| list_files(&folder(name), &[".rs"]));
    let with_text = files.map(|path| (relative_path(&path), read_text(&path)));
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("/tests.rs");
    with_text
        .filter(|(path, _)| !is_test(path) && !DEFINITIONS.contains(&&**path))
        .map(|(path, text)| (path, without_unit_tests(&text)))
        .collect()
}

/// The literals of the sources that equal one of the texts: `file: text`.
fn literals_equal_to(texts: &BTreeSet<&str>, crates: &[&str]) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (path, source) in sources(crates) {
        let equal = string_literals(&source).into_iter().filter(|(_, literal)| texts.contains(literal));
        found.extend(equal.map(|(_, literal)| (path.clone(), literal.to_owned())));
    }
    found
}

/// The names that follow `prefix` in the code of the sources.
fn names_after(prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, source) in sources(&API_CRATES) {
        let (code, _) = code_and_comments(&source);
        for (at, _) in code.match_indices(prefix) {
            if !code[..at].ends_with(is_word_character) {
                found.insert(
                    code[at + prefix.len()..].chars().take_while(|character| is_word_character(*character)).collect(),
                );
            }
        }
    }
    found
}

#[test]
fn texts_of_error_codes_are_written_in_their_enum_only() {
    let texts: BTreeSet<&str> = error_codes().map(ErrorCode::as_str).collect();
    let oauth_texts: BTreeSet<&str> = OAuthErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let mut found = literals_equal_to(&texts, &API_CRATES);
    found.extend(literals_equal_to(&oauth_texts, &OAUTH_CRATES));
    let allowed = ALLOWED_LITERALS.iter().map(|(path, text, _)| ((*path).to_owned(), (*text).to_owned()));
    assert_eq!(found, allowed.collect(), "use ErrorCode or OAuthErrorCode, or update ALLOWED_LITERALS");
}

#[test]
fn every_error_code_is_used() {
    let used = names_after("ErrorCode::");
    let unused: Vec<_> = error_codes().filter(|code| !used.contains(&format!("{code:?}"))).collect();
    assert!(unused.is_empty(), "nothing responds with these codes: remove them\n{unused:?}");
    let used = names_after("OAuthErrorCode::");
    let unused: Vec<_> = OAuthErrorCode::ALL.iter().filter(|code| !used.contains(&format!("{code:?}"))).collect();
    assert!(unused.is_empty(), "nothing responds with these OAuth codes: remove them\n{unused:?}");
}

#[test]
fn texts_of_error_codes_are_unique_words_with_an_error_status() {
    let mut texts = BTreeSet::new();
    for code in error_codes() {
        let text = code.as_str();
        assert!(text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'), "{text}");
        assert!((400..600).contains(&code.status()), "{text}: {}", code.status());
        assert!(texts.insert(text), "two codes have the text {text}");
    }
}

#[test]
fn generated_error_documentation_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, render_document()).expect("docs/errors.md can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == render_document(), "docs/errors.md is stale; run: UPDATE_DOCS=1 cargo test -p gotrue-rs errors");
}
