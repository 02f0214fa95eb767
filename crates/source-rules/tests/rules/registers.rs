//! Lists that name what lies elsewhere name all of it.

use source_rules::{list_files, read_text, repository_root};

/// The account that serves the auth API of an existing Supabase database, which has other owners of tables.
const SERVICE_ACCOUNT: &str = "TO supabase_auth_admin";

/// Name and text of the migrations of schema `basalt`.
fn migrations() -> Vec<(String, String)> {
    let files = list_files(&repository_root().join("sql/basalt"), &[".sql"]);
    let name = |file: &std::path::Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files.iter().map(|file| (name(file), read_text(file))).collect()
}

#[test]
fn every_migration_is_run() {
    let list = read_text(&repository_root().join("crates/platform/src/store/migrate/basalt.rs"));
    let migrations = migrations();
    assert!(migrations.len() > 20, "{migrations:?}");
    for (name, _) in migrations {
        let entry = format!("name: \"{name}\",\n        sql: include_str!(\"../../../../../sql/basalt/{name}\"),");
        assert!(list.contains(&entry), "FILES of crates/platform/src/store/migrate/basalt.rs lacks {name}");
    }
}

/// The tables that a migration creates.
fn created_tables(sql: &str) -> Vec<&str> {
    let statements = sql.lines().filter_map(|line| line.strip_prefix("CREATE ")?.split_once("TABLE "));
    let tables = statements.map(|(_, rest)| rest.trim_start_matches("IF NOT EXISTS "));
    tables.filter_map(|rest| rest.split([' ', '(']).next()).collect()
}

/// What a migration allows the service account, as one text.
fn granted(sql: &str) -> String {
    let grants = sql.split("GRANT ").skip(1).filter_map(|grant| grant.split_once(SERVICE_ACCOUNT));
    grants.map(|(rights, _)| rights.replace([',', '\n'], " ") + " ").collect()
}

#[test]
fn service_account_may_use_every_table() {
    let mut number = 0;
    for (name, sql) in migrations() {
        let granted = granted(&sql);
        for table in created_tables(&sql) {
            let qualified = format!(" basalt.{} ", table.trim_start_matches("basalt."));
            assert!(
                granted.contains(&qualified),
                "sql/basalt/{name} creates {table} without GRANT … {SERVICE_ACCOUNT}"
            );
            number += 1;
        }
    }
    assert!(number > 20, "{number} tables");
}

/// The actions that the desk records, as literals in calls of these methods.
fn recorded_actions(source: &str) -> Vec<String> {
    let calls = ["record_done(", "record_refused("].into_iter().flat_map(|call| source.split(call).skip(1));
    let statements = calls.filter_map(|rest| rest.split([';', '{']).next());
    let literals = statements.filter_map(|statement| statement.split('"').nth(1));
    literals.map(str::to_owned).collect()
}

#[test]
fn every_action_of_owners_has_words() {
    let words = read_text(&repository_root().join("frontend/desk/features/account/model.ts"));
    let mut number = 0;
    for file in list_files(&repository_root().join("crates/desk/src"), &[".rs"]) {
        for action in recorded_actions(&read_text(&file)) {
            let is_named =
                [format!("  {action}: \""), format!("  \"{action}\": \"")].iter().any(|key| words.contains(key));
            assert!(
                is_named,
                "ACTIONS of frontend/desk/features/account/model.ts lacks {action} of {}",
                file.display()
            );
            number += 1;
        }
    }
    assert!(number > 25, "{number} actions");
}
