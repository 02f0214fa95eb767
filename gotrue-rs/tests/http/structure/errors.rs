//! The table of error codes, the source and `docs/errors.md` say the same.

use std::collections::BTreeSet;
use std::path::Path;

use gotrue_rules::domain::error::codes::{SECTIONS, document};

use super::source::{files, repository, shown, text};

/// Words in front of a code, where an error is made.
const MAKERS: [&str; 8] = [
    "bad_request(",
    "unauthorized(",
    "forbidden(",
    "not_found(",
    "unprocessable(",
    "too_many(",
    "http(",
    "code: Some(",
];

fn told() -> BTreeSet<&'static str> {
    SECTIONS.iter().flat_map(|section| section.codes).map(|code| code.code).collect()
}

/// The sources of the two crates that answer, with their paths, but for the table itself.
fn sources() -> Vec<(String, String)> {
    let folders = ["gotrue-rules/src", "gotrue-rs/src"];
    let all = folders.iter().flat_map(|folder| files(&repository().join(folder), &[".rs"]));
    all.map(|path| (shown(&path), text(&path))).filter(|(path, _)| !path.ends_with("error/codes.rs")).collect()
}

/// The literal that follows, past a status in front of it.
fn code_after(text: &str) -> Option<&str> {
    let text = text.trim_start().trim_start_matches(|it: char| it.is_ascii_digit()).trim_start();
    let text = text.strip_prefix(',').unwrap_or(text).trim_start();
    let (code, _) = text.strip_prefix('"')?.split_once('"')?;
    let is_code =
        !code.is_empty() && code.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
    is_code.then_some(code)
}

#[test]
fn every_code_in_the_source_is_told_of() {
    let told = told();
    let mut made = BTreeSet::new();
    for (path, text) in sources() {
        for maker in MAKERS {
            for (at, _) in text.match_indices(maker) {
                if let Some(code) = code_after(&text[at + maker.len()..]) {
                    assert!(told.contains(code), "{path}: {code} is missing in domain/error/codes.rs");
                    made.insert(code.to_owned());
                }
            }
        }
    }
    assert!(made.len() > 60, "only {} codes were found: has the way of making errors changed?", made.len());
}

#[test]
fn every_code_that_is_told_of_is_in_the_source() {
    let sources = sources();
    for code in told() {
        let literal = format!("\"{code}\"");
        assert!(sources.iter().any(|(_, text)| text.contains(&literal)), "nothing answers {code} any more");
    }
}

#[test]
fn the_documentation_of_errors_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, document()).expect("docs/errors.md can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == document(), "docs/errors.md is stale; run: UPDATE_DOCS=1 cargo test -p gotrue-rs errors");
}
