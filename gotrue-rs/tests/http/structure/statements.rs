//! Prepares every statement against the schema, so that a wrong column fails a test.

use std::collections::HashSet;
use std::path::PathBuf;

use gotrue_rs::testing::clone_migrated;
use sqlx::Executor;

use super::source;
use super::tokens::code_and_comments;

#[tokio::test]
async fn every_statement_prepares_against_the_schema() {
    let pool = clone_migrated().await.pool().await;
    let mut misfits = Vec::new();
    for statement in source::list_statements() {
        let prepared = pool.prepare(sqlx::SqlSafeStr::into_sql_str(statement.sql())).await;
        misfits.extend(prepared.err().map(|error| format!("{}: {error}", statement.name())));
        // Values of omitted parts stay bound, and have their types from the client.
        let shortest = statement.sql_without_parts();
        assert!(!shortest.contains("/*if") && !shortest.contains("/*end*/"), "{}: {shortest}", statement.name());
    }
    assert!(misfits.is_empty(), "{}", misfits.join("\n"));
}

#[test]
fn statement_names_are_unique() {
    let mut names = HashSet::new();
    for statement in source::list_statements() {
        assert!(names.insert(statement.name()), "{} names two statements", statement.name());
    }
}

#[test]
fn users_that_are_only_shown_are_read_without_secrets() {
    let is_shown = |name: &str| {
        name == "users.to_read" || ["admin.page_", "admin.after_"].iter().any(|prefix| name.starts_with(prefix))
    };
    let shown: Vec<_> = source::list_statements().filter(|statement| is_shown(statement.name())).collect();
    assert_eq!(shown.len(), 5);
    for statement in shown {
        for secret in ["encrypted_password", "_token", "_secret", "hmac_key"] {
            assert!(!statement.sql().contains(secret), "{} reads {secret}", statement.name());
        }
    }
}

#[test]
fn sql_names_its_parameters() {
    for statement in source::list_statements() {
        let count = statement.parameters().len();
        let numbers: HashSet<usize> = statement.sql().split('$').skip(1).filter_map(leading_number).collect();
        assert_eq!(numbers, (1..=count).collect(), "{}", statement.name());
    }
    for path in statement_files() {
        let text = source::read_text(&path);
        let numbered = text.split('$').skip(1).any(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        assert!(!numbered, "{} numbers a parameter: write `:name`", source::relative_path(&path));
    }
}

/// A read may be executed again after its connection was lost.
///
/// It calls no function with an effect of its own.
#[test]
fn statements_that_may_be_repeated_only_read() {
    let names: HashSet<&str> = source::list_statements()
        .filter(|statement| statement.is_read())
        .map(platform::store::Statement::name)
        .collect();
    assert!(names.contains("users.with_session"), "{names:?}");
    let mut others = Vec::new();
    for statement in source::list_statements().filter(|statement| statement.is_read()) {
        let sql = statement.sql().to_lowercase();
        let is_separator = |character: char| character != '_' && !character.is_alphanumeric();
        let called = sql.match_indices('(').filter_map(|(at, _)| sql[..at].rsplit(is_separator).next());
        let unknown = called.filter(|name| !name.is_empty() && !WITHOUT_EFFECT.contains(name));
        others.extend(unknown.map(|name| format!("{} calls {name}", statement.name())));
    }
    assert!(others.is_empty(), "{others:#?}");
}

/// Functions, operators and keywords before a parenthesis that change nothing.
const WITHOUT_EFFECT: &[&str] = &[
    "all",
    "and",
    "any",
    "array",
    "array_position",
    "as",
    "bool_and",
    "clock_timestamp",
    "coalesce",
    "count",
    "exists",
    "extract",
    "filter",
    "format_type",
    "from",
    "greatest",
    "in",
    "to_json",
    "json_build_object",
    "jsonb_agg",
    "jsonb_build_object",
    "jsonb_populate_recordset",
    "lateral",
    "least",
    "length",
    "lower",
    "make_interval",
    "max",
    "min",
    "not",
    "nullif",
    "or",
    "over",
    "position",
    "row_security_active",
    "select",
    "split_part",
    "string_to_array",
    "substr",
    "sum",
    "to_jsonb",
    "to_regclass",
    "unnest",
    "values",
    "when",
    "where",
];

/// A `statement!` outside of `statements!` would be neither prepared nor planned by a test.
#[test]
fn statements_of_the_sources_are_listed() {
    let root = source::repository_root();
    let folders = [
        "crates/platform/src",
        "gotrue-rs/src",
        "functions-rs/src",
        "crates/orders/src",
        "crates/desk/src",
        "crates/basalt/src",
    ];
    for path in folders.iter().flat_map(|folder| source::list_files(&root.join(folder), &[".rs"])) {
        let name = source::relative_path(&path);
        let is_exempt = name == "crates/platform/src/store/binding.rs" || name.contains("/src/testing/");
        let (code, _) = code_and_comments(&source::read_text(&path));
        assert!(is_exempt || !code.contains("statement!("), "{name}: declare the statement in `statements!`");
    }
    assert!(statement_files().len() > 30);
}

/// The files with a `statements!`.
fn statement_files() -> Vec<PathBuf> {
    let root = source::repository_root();
    let folders = [
        "crates/platform/src/store",
        "gotrue-rs/src/store",
        "functions-rs/src",
        "crates/orders/src",
        "crates/desk/src",
    ];
    let files = folders.iter().flat_map(|folder| source::list_files(&root.join(folder), &[".rs"]));
    let declares = |path: &PathBuf| source::read_text(path).lines().any(|line| line.starts_with("statements! {"));
    files.filter(declares).collect()
}

fn leading_number(text: &str) -> Option<usize> {
    let digits = text.find(|first: char| !first.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}
