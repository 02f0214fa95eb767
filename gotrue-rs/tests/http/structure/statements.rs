//! Prepares every statement against the schema, so that a wrong column fails a test.

use std::collections::HashSet;

use gotrue_rs::store;
use gotrue_rs::testing::TestDatabase;
use sqlx::Executor;

#[tokio::test]
async fn every_statement_prepares_against_the_schema() {
    let pool = TestDatabase::clone_migrated().await.pool().await;
    let mut misfits = Vec::new();
    for statement in store::list_statements() {
        let prepared = pool.prepare(sqlx::SqlSafeStr::into_sql_str(statement.sql)).await;
        misfits.extend(prepared.err().map(|error| format!("{}: {error}", statement.name)));
    }
    assert!(misfits.is_empty(), "{}", misfits.join("\n"));
}

#[test]
fn statement_names_are_unique() {
    let mut names = HashSet::new();
    for statement in store::list_statements() {
        assert!(names.insert(statement.name), "{} names two statements", statement.name);
    }
}
