//! Query plans: no request statement scans a whole table.
//!
//! With sequential scans disabled, a plan has one only if no index applies. An index scan without a condition reads
//! the whole index. Both would grow with the number of users.

use gotrue_rs::testing::clone_migrated;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::source;

/// Statements that no request sends, with the reason.
const MAY_READ_ALL: &[(&str, &str)] = &[
    ("bulk.attach_identities", "an import: by the index where there are many accounts"),
    ("bulk.attach_factors", "an import: by the index where there are many accounts"),
    ("bulk.attach_passkeys", "an import: by the index where there are many accounts"),
    ("bulk.attach_oauth_consents", "an import: by the index where there are many accounts"),
    ("bulk.attach_recovery_code_sets", "an import: by the index where there are many accounts"),
    ("bulk.find_completable", "an import: by the index where there are many accounts"),
    ("bulk.complete", "an import: by the index where there are many accounts"),
    ("base_backup.count_users", "a backup"),
    ("inspection.users", "figures for an operator who asks for them"),
    ("inspection.providers", "figures for an operator who asks for them"),
    ("inspection.hashes", "figures for an operator who asks for them"),
    ("inspection.factors", "figures for an operator who asks for them"),
    ("inspection.passkeys", "figures for an operator who asks for them"),
    ("inspection.custom_providers", "figures for an operator who asks for them"),
    ("inspection.sso_providers", "figures for an operator who asks for them"),
    ("inspection.sizes", "figures for an operator who asks for them"),
    ("inspection.stranded", "figures for an operator who asks for them"),
    ("inspection.schema", "the catalogue, for an operator who asks"),
    ("inspection.versions", "figures for an operator who asks for them"),
    ("bulk.count", "an export"),
    ("cleanup.oauth_requests", "in the background, after a write; what is there is of one day"),
    ("cleanup.inactive_sessions", "in the background, after a write, with a rest after each sweep"),
    ("outbox.find_next_attempt", "the worker: its index holds waiting mails alone"),
    ("outbox.count_by_state", "figures for the operator: indexes of waiting and failed mails alone"),
    ("outbox.list_failing", "figures for the operator"),
    ("outbox.list_inbox", "the development inbox: its index holds its mails alone"),
    ("custom_oauth_providers.count", "a new provider of the administrator's, of which there are few"),
    ("custom_oauth_providers.list", "the administrator's list of providers, of which there are few"),
    ("limit_counters.delete_expired", "once a minute: the index begins with those that have expired"),
    ("replicas.list_live", "the start of a server: there are few replicas"),
    ("replicas.delete_dead", "the start of a server: there are few replicas"),
    ("sso_providers.list", "the administrator's list of companies, of which there are few"),
    ("outbox.find_message", "the development inbox: its index holds its mails alone"),
    ("outbox.list_messages", "the development inbox: its index holds its mails alone"),
    ("outbox.list_mail_states", "the development inbox: its index holds its mails alone"),
    ("outbox.find_last_number", "the development inbox: its index holds its mails alone"),
    ("outbox.delete_selected", "the development inbox: its index holds its mails alone"),
    ("outbox.mark_read", "the development inbox: its index holds its mails alone"),
    ("outbox.delete_surplus", "the development inbox: its index holds 500 mails of applications"),
];

#[tokio::test]
async fn request_statements_never_scan_a_whole_table() {
    let database = clone_migrated().await;
    let options = database.admin_options().options([("search_path", "auth")]);
    let mut connection = PgConnection::connect_with(&options).await.expect("the test server answers");
    let set = "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan";
    sqlx::raw_sql(AssertSqlSafe(set)).execute(&mut connection).await.expect("settings");
    let mut complaints = Vec::new();
    for statement in source::list_statements() {
        let Some(plan) = explain(&mut connection, statement.sql()).await else { continue };
        let mut found = Vec::new();
        fully_scanned_tables(&plan, &mut found);
        let may = MAY_READ_ALL.iter().any(|(name, _)| *name == statement.name());
        match (found.is_empty(), may) {
            (false, false) => complaints.push(format!("{}: {}", statement.name(), found.join(", "))),
            (true, true) => complaints.push(format!("{} reads no whole table any more", statement.name())),
            _ => {}
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The generic plan; `None` for statements without a plan, such as `SAVEPOINT`.
async fn explain(connection: &mut PgConnection, sql: &str) -> Option<Value> {
    let word = sql.split_whitespace().next().unwrap_or_default();
    if !["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(&word) {
        return None;
    }
    let values = (1..=60).rev().find(|n| sql.contains(&format!("${n}"))).unwrap_or(0);
    let given = if values == 0 { String::new() } else { format!("({})", vec!["NULL"; values].join(", ")) };
    let prepare = format!("PREPARE asked AS {sql}");
    sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut *connection).await.expect("the statement fits the schema");
    let explain = format!("EXPLAIN (FORMAT JSON) EXECUTE asked {given}");
    let row = sqlx::raw_sql(AssertSqlSafe(explain)).fetch_one(&mut *connection).await.expect("a plan");
    sqlx::raw_sql(AssertSqlSafe("DEALLOCATE asked".to_owned())).execute(&mut *connection).await.expect("forgotten");
    let text: String = row.try_get_unchecked(0).expect("a text");
    serde_json::from_str(&text).ok()
}

fn fully_scanned_tables(node: &Value, found: &mut Vec<String>) {
    match node {
        Value::Array(nodes) => nodes.iter().for_each(|node| fully_scanned_tables(node, found)),
        Value::Object(members) => {
            let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
            let table = text("Relation Name");
            match text("Node Type") {
                "Seq Scan" => found.push(format!("all of {table}")),
                kind @ ("Index Scan" | "Index Only Scan" | "Bitmap Index Scan") if text("Index Cond").is_empty() => {
                    found.push(format!("{kind} of all of {} {table}", text("Index Name")));
                }
                _ => {}
            }
            members.values().for_each(|node| fully_scanned_tables(node, found));
        }
        _ => {}
    }
}
