//! Checks of query plans, for the tests of each crate that declares statements.

use serde_json::Value;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::store::Statement;

/// Returns the statements that read a whole table or index, with what they read.
///
/// With sequential scans disabled, a plan has one only if no index applies. An index scan without a condition reads the
/// whole index.
///
/// # Panics
/// A statement does not fit the schema.
pub async fn list_full_scans(
    connection: &mut PgConnection,
    statements: impl IntoIterator<Item = &'static Statement>,
) -> Vec<(&'static str, String)> {
    let set = "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan";
    sqlx::raw_sql(AssertSqlSafe(set)).execute(&mut *connection).await.expect("settings");
    let mut scans = Vec::new();
    for statement in statements {
        let Some(plan) = explain(connection, statement.sql()).await else { continue };
        let mut found = Vec::new();
        collect_full_scans(&plan, &mut found);
        if !found.is_empty() {
            scans.push((statement.name(), found.join(", ")));
        }
    }
    scans
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

fn collect_full_scans(node: &Value, found: &mut Vec<String>) {
    match node {
        Value::Array(nodes) => nodes.iter().for_each(|node| collect_full_scans(node, found)),
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
            members.values().for_each(|node| collect_full_scans(node, found));
        }
        _ => {}
    }
}
