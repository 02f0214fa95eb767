//! Detects what an import file is: how its accounts are separated, and which service wrote them.

use std::io::{self, BufReader, Cursor};
use std::path::{Path, PathBuf};

use anyhow::bail;
use gotrue_rules::domain::bulk::{ImportRow, auth0, firebase, table};
use indicatif::ProgressBar;

use super::arguments::ImportFormat;
use super::read::{self, LineReader, TextReader};
use super::read_list::ListReader;
use super::table::find_delimiter;

/// How the accounts of a file are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// One JSON object per line.
    Lines,
    /// Lists of a JSON document.
    List,
    /// CSV with a header.
    Table,
    /// CSV of Firebase, which has no header.
    FirebaseTable,
    /// Statements of SQL.
    Dump,
}

/// What is known of a file from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Detected {
    /// Who wrote it.
    pub format: ImportFormat,
    /// How its accounts are separated.
    pub container: Container,
    /// Whether it is Auth0's list of password hashes.
    pub has_hashes: bool,
}

/// A file of accounts.
pub(super) struct InputFile {
    /// The path; `-` is standard input.
    pub path: PathBuf,
    /// What it is.
    pub detected: Detected,
    opened: Option<(TextReader, ProgressBar)>,
}

impl InputFile {
    /// Opens a file and detects what it is, as far as `given` does not say it.
    pub(super) fn open(path: &Path, given: Option<ImportFormat>) -> anyhow::Result<Self> {
        let (mut text, bar) = read::open(path)?;
        let beginning = read::peek(&mut text)?;
        let detected = detect(&path.display().to_string(), &beginning, given)?;
        Ok(Self { path: path.to_owned(), detected, opened: Some((text, bar)) })
    }

    /// Returns the text from its beginning.
    pub(super) fn text(&mut self) -> anyhow::Result<(TextReader, ProgressBar)> {
        if let Some(opened) = self.opened.take() {
            return Ok(opened);
        }
        if self.path.as_os_str() == "-" {
            bail!("these accounts are read more than once: give a file in place of standard input");
        }
        read::open(&self.path)
    }
}

/// Detects the format of a text by its beginning.
///
/// # Errors
/// If no account can be in it; the error names what it looks like and what to do.
pub(super) fn detect(name: &str, beginning: &str, given: Option<ImportFormat>) -> anyhow::Result<Detected> {
    let text = beginning.trim_start();
    if text.is_empty() {
        bail!("{name} is empty: there is no account in it");
    }
    let found = match text.as_bytes()[0] {
        b'{' | b'[' => Some(detect_json(text)),
        _ => detect_dump(text).or_else(|| detect_table(text)),
    };
    let Some(mut found) = found else {
        let Some(format) = given else {
            bail!("{name}: {}", describe_unknown(text));
        };
        return Ok(Detected { format, container: usual_container(format), has_hashes: false });
    };
    if let Some(format) = given {
        let is_json = matches!(found.container, Container::Lines | Container::List);
        if is_json && matches!(format, ImportFormat::Supabase) {
            bail!("{name} is JSON and no dump: leave --format out");
        }
        found.format = format;
    }
    Ok(found)
}

fn usual_container(format: ImportFormat) -> Container {
    match format {
        ImportFormat::Basalt | ImportFormat::Auth0 => Container::Lines,
        ImportFormat::Firebase | ImportFormat::Pocketbase => Container::List,
        ImportFormat::Supabase => Container::Dump,
        ImportFormat::Clerk | ImportFormat::Csv => Container::Table,
    }
}

/// Names of members that hold the list of accounts in a document.
const LISTS: [&str; 5] = ["users", "items", "data", "records", "rows"];

fn detect_json(text: &str) -> Detected {
    let container = if text.starts_with('[') || is_list_document(text) { Container::List } else { Container::Lines };
    let reader: TextReader = BufReader::new(Box::new(Cursor::new(text.to_owned().into_bytes())));
    let first = match container {
        Container::List => ListReader::new(reader).next(),
        _ => LineReader::new(reader).next(),
    };
    let first = first.and_then(io::Result::ok).and_then(|item| item.row.ok()).unwrap_or_default();
    let has = |names: &[&str]| names.iter().any(|name| first.contains_key(*name));
    // A first account that is longer than the beginning has no members here.
    let is_firebase = has(&["localId"]) || (first.is_empty() && text.contains("\"localId\""));
    let is_auth0 = has(&["_id", "Id", "user_id", "passwordHash", "custom_password_hash", "mfa_factors"]);
    let is_record = has(&["collectionId", "collectionName", "emailVisibility", "verified", "tokenKey"]);
    let format = if is_firebase {
        ImportFormat::Firebase
    } else if is_record {
        ImportFormat::Pocketbase
    } else if is_auth0 && !has(&["aud", "encrypted_password"]) {
        ImportFormat::Auth0
    } else {
        ImportFormat::Basalt
    };
    let has_hashes = format == ImportFormat::Auth0 && is_hash_row(&first);
    Detected { format, container, has_hashes }
}

fn is_hash_row(row: &ImportRow) -> bool {
    auth0::find_password_hash(row).is_some() && !row.contains_key("user_id")
}

/// Whether a document is an object whose list holds the accounts, on one line or on several.
fn is_list_document(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    if let Ok(object) = serde_json::from_str::<ImportRow>(first) {
        return LISTS.iter().any(|name| object.get(*name).is_some_and(serde_json::Value::is_array));
    }
    let head: String = text.chars().filter(|character| !character.is_whitespace()).take(4096).collect();
    let starts = LISTS.iter().filter_map(|name| head.find(&format!("\"{name}\":[")));
    starts.min().is_some_and(|at| !head[1..at].contains(['{', '[']))
}

fn detect_table(text: &str) -> Option<Detected> {
    let header = text.lines().next()?;
    let mut records = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(find_delimiter(header))
        .from_reader(text.as_bytes())
        .into_records();
    let mut fields = || -> Option<Vec<String>> {
        let record = records.next()?.ok()?;
        Some(record.iter().map(str::to_owned).collect())
    };
    let first = fields()?;
    let table = |format| Some(Detected { format, container: Container::Table, has_hashes: false });
    if firebase::is_csv_row(&first) {
        let container = Container::FirebaseTable;
        return Some(Detected { format: ImportFormat::Firebase, container, has_hashes: false });
    }
    let names: Vec<String> = first.iter().map(|name| table::normalize_name(name)).collect();
    if !names.iter().any(|name| table::is_contact_name(name)) {
        return None;
    }
    let has = |name: &str| names.iter().any(|other| other == name);
    let second = fields().unwrap_or_default();
    if has("primary_email_address") || has("password_digest") {
        return table(ImportFormat::Clerk);
    }
    let is_subject = |(name, value): (&String, &String)| {
        matches!(name.as_str(), "user_id" | "id") && value.contains('|') && !value.contains(' ')
    };
    let is_auth0 = names.iter().zip(&second).any(is_subject);
    table(if is_auth0 { ImportFormat::Auth0 } else { ImportFormat::Csv })
}

/// How the statements of a dump begin.
const STATEMENTS: [&str; 14] = [
    "--",
    "/*",
    "\\restrict",
    "\\connect",
    "set ",
    "copy ",
    "insert ",
    "create ",
    "begin;",
    "alter ",
    "select ",
    "truncate ",
    "delete ",
    "start ",
];

fn detect_dump(text: &str) -> Option<Detected> {
    let start: String = text.chars().take(16).collect::<String>().to_lowercase();
    STATEMENTS.iter().any(|statement| start.starts_with(statement)).then_some(Detected {
        format: ImportFormat::Supabase,
        container: Container::Dump,
        has_hashes: false,
    })
}

fn describe_unknown(text: &str) -> String {
    let expected = "JSON, CSV with a header that names email or phone, or a dump as SQL is wanted; see `basalt users import --help`";
    if text.starts_with('<') {
        return format!("it looks like HTML or XML and not like accounts: {expected}");
    }
    let first: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
    if first.contains([',', ';', '\t']) {
        return format!("it looks like CSV, but no column is known in its first line {first:?}: {expected}");
    }
    format!("no account is recognised in it; it begins with {first:?}: {expected}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn format_is_detected_by_beginning() {
        for (content, format, container) in [
            ("{\"email\": \"a@b.co\"}\n", ImportFormat::Basalt, Container::Lines),
            ("{\"identities\": [{}], \"email\": \"a@b.co\"}\n", ImportFormat::Basalt, Container::Lines),
            ("[{\"email\": \"a@b.co\"}]", ImportFormat::Basalt, Container::List),
            (
                "{\"users\": [{\"aud\": \"authenticated\", \"email\": \"a@b.co\"}]}",
                ImportFormat::Basalt,
                Container::List,
            ),
            ("{ \"users\" : [\n {\"localId\": \"1\"}", ImportFormat::Firebase, Container::List),
            ("{\"kind\":\"x\",\n\"users\":[{\"localId\": \"1\"}]}", ImportFormat::Firebase, Container::List),
            ("a1,a@b.co,true,,,Ann,,,,,,,,,,,,,,,,,,1,2,,,", ImportFormat::Firebase, Container::FirebaseTable),
            ("{\"_id\": {\"$oid\": \"1\"}, \"passwordHash\": \"x\"}\n", ImportFormat::Auth0, Container::Lines),
            ("user_id,email\nauth0|1,a@b.co\n", ImportFormat::Auth0, Container::Table),
            ("id,primary_email_address\n1,a@b.co\n", ImportFormat::Clerk, Container::Table),
            ("UID;Email\n1;a@b.co\n", ImportFormat::Csv, Container::Table),
            ("{\"page\":1,\"items\":[{\"id\":\"a\",\"verified\":true}]}", ImportFormat::Pocketbase, Container::List),
            ("--\n-- PostgreSQL database dump\n", ImportFormat::Supabase, Container::Dump),
            ("SET session_replication_role = replica;", ImportFormat::Supabase, Container::Dump),
        ] {
            let found = detect("file", content, None).expect(content);
            assert_eq!((found.format, found.container), (format, container), "{content}");
        }
    }

    #[test]
    fn text_without_accounts_is_refused() {
        for (content, wanted) in [
            ("", "is empty"),
            (" \n", "is empty"),
            ("<html>", "HTML or XML"),
            ("colour,size\nred,L\n", "no column is known"),
            ("hello", "no account is recognised"),
        ] {
            let error = detect("file", content, None).expect_err(content).to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_beginnings_do_not_panic(content in "[{\\[]?(\\PC|\n|\"|:|,){0,60}") {
            let _ = detect("file", &content, None);
        }
    }
}
