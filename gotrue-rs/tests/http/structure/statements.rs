//! Every statement fits the schema and has the right attributes, so that a wrong column or declaration fails a test.

use std::collections::HashSet;
use std::path::PathBuf;

use gotrue_rs::testing::clone_migrated;
use platform::statement;
use platform::store::Statement;
use platform::testing::{assert_part_is_repeated, check_statements, named_sql};

use super::list_statements;
use source_rules::code_and_comments;

#[tokio::test]
async fn statements_match_the_schema_and_their_attributes() {
    let mut connection = clone_migrated().await.pool().await.acquire().await.expect("the test server answers");
    assert_eq!(check_statements(&mut connection, list_statements()).await, [""; 0]);
    let repeatable = list_statements().filter(|statement| statement.is_repeatable()).count();
    assert!(repeatable > 60, "{repeatable}");
}

/// Values of omitted parts stay bound, and have their types from the client.
#[test]
fn optional_parts_can_be_left_out() {
    for statement in list_statements() {
        let shortest = statement.sql_without_parts();
        assert!(!shortest.contains("/*if") && !shortest.contains("/*end*/"), "{}: {shortest}", statement.name());
    }
}

#[tokio::test]
async fn wrong_attributes_are_found() {
    const CORRECT: &[Statement] = &[
        statement!(#[repeatable] "tests.clock": "SELECT clock_timestamp() < :now"),
        statement!(#[repeatable] "tests.row_lock": "SELECT id FROM users WHERE id = :id FOR UPDATE"),
    ];
    const WRONG: &[Statement] = &[
        statement!(#[repeatable] "tests.lock": "SELECT pg_advisory_xact_lock(1)"),
        statement!(#[repeatable] "tests.limits":
            "SELECT status FROM basalt.count_limits(:kinds, :keys, :rates, :sizes, :spans)"),
        statement!(#[repeatable] "tests.delete":
            "WITH gone AS (DELETE FROM users WHERE id = :id RETURNING id) SELECT id FROM gone"),
        statement!(#[repeatable] "tests.update": "UPDATE users SET role = :role"),
        statement!(#[repeatable] "tests.column": "SELECT missing FROM users"),
        statement!(#[proves(SessionsEnded)] "tests.proof": "DELETE FROM refresh_tokens WHERE id = :id"),
        statement!("tests.no_proof": "DELETE FROM sessions WHERE id = :id"),
    ];
    let mut connection = clone_migrated().await.pool().await.acquire().await.expect("the test server answers");
    assert_eq!(check_statements(&mut connection, CORRECT).await, [""; 0]);
    let found = check_statements(&mut connection, WRONG).await;
    let expected = [
        "pg_advisory_xact_lock",
        "count_limits",
        "read-only",
        "read-only",
        "does not exist",
        "SessionsEnded",
        "SessionsEnded",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (difference, expected) in found.iter().zip(expected) {
        assert!(difference.contains(expected), "{difference}");
    }
}

/// What several statements repeat is the same in each.
#[test]
fn repeated_parts_are_alike() {
    let sql =
        |name: &str| named_sql(list_statements().find(|statement| statement.name() == name).expect("it is listed"));
    let assert = |marker, part: &str| assert_part_is_repeated(list_statements(), marker, part);
    assert(":audit_payloads", &sql("audit_log_entries.insert"));
    assert(
        "INSERT INTO one_time_tokens",
        "ON CONFLICT (user_id, token_type) DO UPDATE
         SET id = EXCLUDED.id,
             token_hash = EXCLUDED.token_hash,
             relates_to = EXCLUDED.relates_to,
             created_at = EXCLUDED.created_at,
             updated_at = EXCLUDED.updated_at",
    );
    let rotation = sql("refresh_tokens.rotate_fast");
    let entries = rotation.split("INSERT INTO audit_log_entries").nth(1).and_then(|rest| rest.split("unnest").next());
    assert("'token_refreshed'", entries.expect("it writes audit entries"));
    let decoys = sql("decoys.write_flow");
    assert("INSERT INTO basalt.decoys", decoys.split("generate_series(").next().expect("a first part"));
}

/// Statements that clear the pending one-time secrets of a user forget none.
#[test]
fn pending_secrets_are_cleared_together() {
    const CLEARED: [&str; 10] = [
        "confirmation_sent_at",
        "recovery_token",
        "recovery_sent_at",
        "email_change_token_current",
        "email_change_token_new",
        "email_change_sent_at",
        "phone_change_token",
        "phone_change_sent_at",
        "reauthentication_token",
        "reauthentication_sent_at",
    ];
    for column in CLEARED {
        let part = format!("{column} = CASE WHEN");
        assert_part_is_repeated(list_statements(), "recovery_token = CASE WHEN", &part);
    }
}

#[test]
fn statement_names_are_unique() {
    let mut names = HashSet::new();
    for statement in list_statements() {
        assert!(names.insert(statement.name()), "{} names two statements", statement.name());
    }
}

#[test]
fn users_that_are_only_shown_are_read_without_secrets() {
    let is_shown = |name: &str| {
        name == "users.to_read" || ["admin.page_", "admin.after_"].iter().any(|prefix| name.starts_with(prefix))
    };
    let shown: Vec<_> = list_statements().filter(|statement| is_shown(statement.name())).collect();
    assert_eq!(shown.len(), 5);
    for statement in shown {
        for secret in ["encrypted_password", "_token", "_secret", "hmac_key"] {
            assert!(!statement.sql().contains(secret), "{} reads {secret}", statement.name());
        }
    }
}

#[test]
fn sql_names_its_parameters() {
    for statement in list_statements() {
        let count = statement.parameters().len();
        let numbers: HashSet<usize> = statement.sql().split('$').skip(1).filter_map(leading_number).collect();
        assert_eq!(numbers, (1..=count).collect(), "{}", statement.name());
    }
    for path in statement_files() {
        let text = source_rules::read_text(&path);
        let numbered = text.split('$').skip(1).any(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        assert!(!numbered, "{} numbers a parameter: write `:name`", source_rules::relative_path(&path));
    }
}

/// A `statement!` outside of `statements!` would be neither prepared nor planned by a test.
#[test]
fn statements_of_the_sources_are_listed() {
    let root = source_rules::repository_root();
    let folders = [
        "crates/platform/src",
        "gotrue-rs/src",
        "functions-rs/src",
        "crates/orders/src",
        "crates/desk/src",
        "crates/basalt/src",
        "crates/embedded-postgres/src",
    ];
    for path in folders.iter().flat_map(|folder| source_rules::list_files(&root.join(folder), &[".rs"])) {
        let name = source_rules::relative_path(&path);
        let is_exempt = name == "crates/platform/src/store/binding.rs" || name.contains("/src/testing/");
        let (code, _) = code_and_comments(&source_rules::read_text(&path));
        assert!(is_exempt || !code.contains("statement!("), "{name}: declare the statement in `statements!`");
    }
    assert!(statement_files().len() > 30);
}

/// The files with a `statements!`.
fn statement_files() -> Vec<PathBuf> {
    let root = source_rules::repository_root();
    let folders = [
        "crates/platform/src/store",
        "gotrue-rs/src/store",
        "functions-rs/src",
        "crates/orders/src",
        "crates/desk/src",
        "crates/basalt/src",
        "crates/embedded-postgres/src",
    ];
    let files = folders.iter().flat_map(|folder| source_rules::list_files(&root.join(folder), &[".rs"]));
    let declares = |path: &PathBuf| source_rules::read_text(path).lines().any(|line| line.starts_with("statements! {"));
    files.filter(declares).collect()
}

fn leading_number(text: &str) -> Option<usize> {
    let digits = text.find(|first: char| !first.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}
