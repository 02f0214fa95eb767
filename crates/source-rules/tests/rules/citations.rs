//! Checks the citations of files in the comments of all crates.
//!
//! A comment that cites a document has the reason of the code there. The compiler does not read comments, and rustdoc checks
//! links between items only: a citation of a file that was moved or deleted would stay.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use source_rules::code_and_comments;

/// A line number and what is wrong on that line.
type Finding = (usize, String);

#[test]
fn files_cited_in_comments_exist() {
    assert_none("citations of files that do not exist", |source| {
        missing_citations(&source.comments, |cited| is_in_repository(&source.file, cited))
    });
}

#[test]
fn citations_of_missing_files_are_found() {
    let comments = "// See `docs/missing.md#token`, limits.md, store/rows.rs:12.\n// https://example.com/a.md, *.sql";
    let names = |is_there: bool| missing_citations(comments, |_| is_there);
    assert_eq!(names(false).len(), 3);
    assert_eq!(names(true).len(), 0);
    assert_eq!(citations("// (`docs/decisions/0001`)."), ["docs/decisions/0001"]);
    assert!(is_in_repository("gotrue-rs/src/lib.rs", "docs/architecture.md"));
    assert!(is_in_repository("gotrue-rs/src/lib.rs", "docs/decisions/0001"));
    assert!(is_in_repository("crates/source-rules/tests/rules/main.rs", "rules/single.rs"));
    assert!(!is_in_repository("gotrue-rs/src/lib.rs", "docs/missing.md"));
}

/// A source file, with its path from the root of the repository.
struct Source {
    file: String,
    /// The text with everything but comments blanked out.
    comments: String,
}

/// The sources and tests of all crates, read once.
fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let root = source_rules::repository_root();
        let files: Vec<_> =
            source_rules::CRATES.iter().flat_map(|name| source_rules::list_files(&root.join(name), &[".rs"])).collect();
        assert!(files.len() > 300, "only {} files found: is this the repository?", files.len());
        let read = files.iter().map(|path| {
            let (_, comments) = code_and_comments(&source_rules::read_text(path));
            Source { file: source_rules::relative_path(path), comments }
        });
        read.collect()
    })
}

/// Fails with `file:line: message` for every finding.
fn assert_none(title: &str, check: impl Fn(&Source) -> Vec<Finding>) {
    let mut found = Vec::new();
    for source in sources() {
        found.extend(check(source).into_iter().map(|(line, message)| format!("{}:{line}: {message}", source.file)));
    }
    assert!(found.is_empty(), "{} {title}:\n{}", found.len(), found.join("\n"));
}

fn missing_citations(comments: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in numbered(comments) {
        let missing = citations(line).into_iter().filter(|cited| !exists(cited));
        found.extend(missing.map(|cited| (number, format!("{cited} does not exist"))));
    }
    found
}

/// The files that a comment names, without anchors and line numbers; patterns and URLs are none.
fn citations(line: &str) -> Vec<&str> {
    let is_pattern = |name: &str| name.contains("://") || name.contains(['*', '{', '$', '…']);
    let is_citation = |name: &str| {
        let ends_with = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        name.starts_with("docs/") || ends_with(&[".md"]) || (name.contains('/') && ends_with(&[".rs", ".sql"]))
    };
    line.split(|character: char| character.is_whitespace() || "`()[]<>,;\"'|".contains(character))
        .filter(|name| !is_pattern(name))
        .map(|name| name.split(['#', ':']).next().unwrap_or_default().trim_end_matches(['.', '!', '?']))
        .filter(|name| is_citation(name))
        .collect()
}

/// Whether a cited file exists: below the repository, a folder of the citing file, or a crate's `src`.
fn is_in_repository(citing: &str, cited: &str) -> bool {
    let root = source_rules::repository_root();
    let above = Path::new(citing).ancestors().skip(1).map(|folder| root.join(folder));
    let crates = source_rules::CRATES.iter().map(|name| root.join(name).join("src"));
    above.chain(crates).any(|folder| exists(&folder.join(cited)))
}

/// Whether there is such a file, or one whose name starts with this number (`docs/decisions/0001`).
fn exists(path: &Path) -> bool {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let start = format!("{}-", name.to_string_lossy());
    let mut siblings = fs::read_dir(folder).into_iter().flatten().flatten();
    path.exists() || siblings.any(|sibling| sibling.file_name().to_string_lossy().starts_with(&start))
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}
