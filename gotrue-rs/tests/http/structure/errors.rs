//! Compares the table of error codes with the sources and `docs/errors.md`.

use std::collections::BTreeSet;
use std::path::Path;

use gotrue_rules::domain::error::codes::{SECTIONS, render_document};

use super::source::{list_files, read_text, relative_path, repository_root};

/// Constructors of errors, followed by a code.
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

fn documented_codes() -> BTreeSet<&'static str> {
    SECTIONS.iter().flat_map(|section| section.codes).map(|code| code.code).collect()
}

/// The sources of the crates that create errors, without the table itself.
fn sources() -> Vec<(String, String)> {
    let folders = ["gotrue-rules/src", "gotrue-rs/src"];
    let all = folders.iter().flat_map(|folder| list_files(&repository_root().join(folder), &[".rs"]));
    all.map(|path| (relative_path(&path), read_text(&path)))
        .filter(|(path, _)| !path.ends_with("error/codes.rs"))
        .collect()
}

/// The code literal that follows, after an optional status.
fn code_after(text: &str) -> Option<&str> {
    let text = text.trim_start().trim_start_matches(|it: char| it.is_ascii_digit()).trim_start();
    let text = text.strip_prefix(',').unwrap_or(text).trim_start();
    let (code, _) = text.strip_prefix('"')?.split_once('"')?;
    let is_code =
        !code.is_empty() && code.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
    is_code.then_some(code)
}

#[test]
fn every_error_code_in_the_source_is_documented() {
    let reported = documented_codes();
    let mut made = BTreeSet::new();
    for (path, text) in sources() {
        for maker in MAKERS {
            for (at, _) in text.match_indices(maker) {
                if let Some(code) = code_after(&text[at + maker.len()..]) {
                    assert!(reported.contains(code), "{path}: {code} is missing in domain/error/codes.rs");
                    made.insert(code.to_owned());
                }
            }
        }
    }
    assert!(made.len() > 60, "only {} codes were found: has the way of making errors changed?", made.len());
}

#[test]
fn every_documented_error_code_is_in_the_source() {
    let sources = sources();
    for code in documented_codes() {
        let literal = format!("\"{code}\"");
        assert!(sources.iter().any(|(_, text)| text.contains(&literal)), "nothing answers {code} any more");
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
