//! Checks names of types and citations of files in all crates.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use source_rules::{code_and_comments, is_word_character};

/// Public type names that a crate may define more than once: crate, name, reason.
const ALLOWED_DUPLICATES: &[(&str, &str, &str)] = &[
    ("storage-rs", "Request", "of a protocol each: TUS, S3, and S3 as a client"),
    ("storage-rs", "Route", "of objects, and of buckets"),
    ("storage-rs", "Scope", "of an S3 signature, of a signed URL, and of a part of a transaction"),
];

/// A line number and what is wrong on that line.
type Finding = (usize, String);

#[test]
fn public_type_names_are_unique_in_their_crate() {
    let mut definitions: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for source in sources() {
        let Some(name) = source_rules::CRATES.iter().find(|name| source.file.starts_with(&format!("{name}/src/")))
        else {
            continue;
        };
        for (line, type_name) in public_types(&source.code) {
            definitions.entry((name, type_name)).or_default().push(format!("{}:{line}", source.file));
        }
    }
    let found = duplicates(&definitions, ALLOWED_DUPLICATES);
    assert!(found.is_empty(), "rename these public types or allow them with a reason:\n{}", found.join("\n"));
}

#[test]
fn files_cited_in_comments_exist() {
    assert_none("citations of files that do not exist", |source| {
        missing_citations(&source.comments, |cited| is_in_repository(&source.file, cited))
    });
}

#[test]
fn duplicate_type_names_are_found_unless_allowed() {
    let code =
        "pub struct Row;\npub(crate) struct Row;\n    pub enum Row<T> {}\npub type Rows = Vec<Row>;\nstruct Row;";
    let row = |line| (line, "Row".to_owned());
    assert_eq!(public_types(code), [row(1), row(2), row(3), (4, "Rows".to_owned())]);

    let lines = vec!["a/src/x.rs:1".to_owned(), "a/src/y.rs:3".to_owned()];
    let twice = BTreeMap::from([(("a", "Row".to_owned()), lines)]);
    assert_eq!(duplicates(&twice, &[]), ["a/src/x.rs:1: `Row` is also defined at a/src/y.rs:3"]);
    assert_eq!(duplicates(&twice, &[("b", "Row", "another crate")]).len(), 2);
    assert_eq!(duplicates(&twice, &[("a", "Row", "a reason")]).len(), 0);
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
    /// The text with comments and literals blanked out.
    code: String,
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
            let (code, comments) = code_and_comments(&source_rules::read_text(path));
            Source { file: source_rules::relative_path(path), code, comments }
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

/// The names of the types that are `pub`, also within the crate or a module only.
fn public_types(code: &str) -> Vec<Finding> {
    let name = |line: &str| {
        let after = line.trim_start().strip_prefix("pub")?;
        let after = after.strip_prefix('(').and_then(|scope| scope.split_once(')')).map_or(after, |(_, after)| after);
        let (keyword, rest) = after.strip_prefix(' ')?.split_once(' ')?;
        ["struct", "enum", "trait", "type", "union"].contains(&keyword).then_some(())?;
        identifiers(rest).next().filter(|name| rest.trim_start().starts_with(name)).map(str::to_owned)
    };
    numbered(code).filter_map(|(number, line)| Some((number, name(line)?))).collect()
}

/// Names that are defined more than once but not allowed to, and permissions that nothing needs.
fn duplicates(definitions: &BTreeMap<(&str, String), Vec<String>>, allowed: &[(&str, &str, &str)]) -> Vec<String> {
    let is_allowed =
        |package: &str, name: &str| allowed.iter().any(|(of, allowed_name, _)| *of == package && *allowed_name == name);
    let mut found = Vec::new();
    for ((package, name), lines) in definitions {
        if let [first, others @ ..] = &**lines
            && !others.is_empty()
            && !is_allowed(package, name)
        {
            found.push(format!("{first}: `{name}` is also defined at {}", others.join(", ")));
        }
    }
    for (package, name, _) in allowed {
        if definitions.get(&(*package, (*name).to_owned())).is_none_or(|lines| lines.len() < 2) {
            found.push(format!("ALLOWED_DUPLICATES: {package} does not define `{name}` twice"));
        }
    }
    found
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

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|character: char| !is_word_character(character));
    words.filter(|word| word.starts_with(|character: char| character.is_alphabetic() || character == '_'))
}
