//! Checks the vocabulary of all crates: type names, words and cited files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::source;
use super::tokens::{code_and_comments, is_word_character};

/// Public type names that a crate may define more than once: crate, name, reason.
const ALLOWED_DUPLICATES: &[(&str, &str, &str)] = &[];

/// One word a line, an optional scope (`identifier` or `comment`), and the reason.
const BANNED_WORDS: &str = include_str!("banned_words.txt");

/// A line number and what is wrong on that line.
type Finding = (usize, String);

#[test]
fn public_type_names_are_unique_in_their_crate() {
    let mut definitions: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for source in sources() {
        let Some(name) = source::CRATES.iter().find(|name| source.file.starts_with(&format!("{name}/src/"))) else {
            continue;
        };
        for (line, type_name) in public_types(&source.code) {
            definitions.entry((*name, type_name)).or_default().push(format!("{}:{line}", source.file));
        }
    }
    let found = duplicates(&definitions, ALLOWED_DUPLICATES);
    assert!(found.is_empty(), "rename these public types or allow them with a reason:\n{}", found.join("\n"));
}

#[test]
fn identifiers_contain_no_banned_words() {
    let banned = banned_words(BANNED_WORDS);
    assert_none("banned words in identifiers", |source| banned_in_identifiers(&source.code, &banned));
}

#[test]
fn comments_contain_no_banned_words() {
    let banned = banned_words(BANNED_WORDS);
    assert_none("banned words in comments", |source| banned_in_comments(&source.comments, &banned));
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
fn banned_words_are_found_in_their_scope() {
    let banned = banned_words("# a comment\n\nfoo identifier use bar\nqux comment use bar\nbaz use bar\n");
    let words = |found: Vec<Finding>| found.into_iter().map(|(line, _)| line).collect::<Vec<_>>();
    let code = "fn foo_bar() {}\nstruct HTTPFoo;\nlet food = qux;\nlet is_baz = FOO;";
    assert_eq!(words(banned_in_identifiers(code, &banned)), [1, 2, 4, 4]);
    let comments = "// foo\n/// Qux, not quxes.\n// `qux` is a name\n//! its baz";
    assert_eq!(words(banned_in_comments(comments, &banned)), [2, 4]);
}

#[test]
fn identifiers_are_split_at_underscores_and_capitals() {
    assert_eq!(words("issue_tokens"), ["issue", "tokens"]);
    assert_eq!(words("ExternalUser"), ["external", "user"]);
    assert_eq!(words("HTTPClient2"), ["http", "client2"]);
    assert_eq!(words("MAX_LINES"), ["max", "lines"]);
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
    assert!(is_in_repository("gotrue-rs/tests/http/structure/mod.rs", "structure/source.rs"));
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
        let root = source::repository_root();
        let files: Vec<_> =
            source::CRATES.iter().flat_map(|name| source::list_files(&root.join(name), &[".rs"])).collect();
        assert!(files.len() > 300, "only {} files found: is this the repository?", files.len());
        let read = files.iter().map(|path| {
            let (code, comments) = code_and_comments(&source::read_text(path));
            Source { file: source::relative_path(path), code, comments }
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
    let is_allowed = |package: &str, name: &str| allowed.iter().any(|(of, it, _)| *of == package && *it == name);
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Identifiers,
    Comments,
    Everywhere,
}

struct BannedWord<'a> {
    word: &'a str,
    scope: Scope,
    reason: &'a str,
}

fn banned_words(list: &str) -> Vec<BannedWord<'_>> {
    let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parse = |line| {
        let (word, rest) = split_word(line);
        let (scope, reason) = match split_word(rest) {
            ("identifier", reason) => (Scope::Identifiers, reason),
            ("comment", reason) => (Scope::Comments, reason),
            _ => (Scope::Everywhere, rest),
        };
        assert!(!reason.is_empty(), "banned_words.txt: `{word}` has no reason");
        BannedWord { word, scope, reason }
    };
    lines.map(parse).collect()
}

/// The first word of a line and what follows it.
fn split_word(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    (word, rest.trim_start())
}

fn banned_in_identifiers(code: &str, banned: &[BannedWord<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in numbered(code) {
        for identifier in identifiers(line) {
            let words = words(identifier);
            let hits = banned.iter().filter(|it| it.scope != Scope::Comments && words.iter().any(|own| own == it.word));
            found.extend(hits.map(|it| (number, format!("`{}` in `{identifier}`: {}", it.word, it.reason))));
        }
    }
    found
}

fn banned_in_comments(comments: &str, banned: &[BannedWord<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in numbered(comments) {
        let words = prose(line);
        let hits = banned.iter().filter(|it| it.scope != Scope::Identifiers && words.iter().any(|own| own == it.word));
        found.extend(hits.map(|it| (number, format!("`{}`: {}", it.word, it.reason))));
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
    line.split(|it: char| it.is_whitespace() || "`()[]<>,;\"'|".contains(it))
        .filter(|name| !is_pattern(name))
        .map(|name| name.split(['#', ':']).next().unwrap_or_default().trim_end_matches(['.', '!', '?']))
        .filter(|name| is_citation(name))
        .collect()
}

/// Whether a cited file exists: below the repository, a folder of the citing file, or a crate's `src`.
fn is_in_repository(citing: &str, cited: &str) -> bool {
    let root = source::repository_root();
    let above = Path::new(citing).ancestors().skip(1).map(|folder| root.join(folder));
    let crates = source::CRATES.iter().map(|name| root.join(name).join("src"));
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
    let words = line.split(|it: char| !is_word_character(it));
    words.filter(|word| word.starts_with(|it: char| it.is_alphabetic() || it == '_'))
}

/// The words of an identifier in lower case: split at `_` and before capitals.
fn words(identifier: &str) -> Vec<String> {
    let characters: Vec<char> = identifier.chars().collect();
    let mut words = vec![String::new()];
    for (at, character) in characters.iter().enumerate() {
        let follows_capital = at > 0 && characters[at - 1].is_uppercase();
        let precedes_lower_case = characters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if *character == '_' || (character.is_uppercase() && (!follows_capital || precedes_lower_case)) {
            words.push(String::new());
        }
        if *character != '_' {
            words.last_mut().expect("there is always one").extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The words of a comment line in lower case, without those between backticks.
fn prose(line: &str) -> Vec<String> {
    let parts = line.split('`').step_by(2).flat_map(|part| part.split(|it: char| !it.is_alphabetic()));
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}
