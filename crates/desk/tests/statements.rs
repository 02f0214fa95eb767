//! Prepares every statement of the desk against the schema, so that a wrong column fails a test.

use gotrue_rs::testing::clone_migrated;
use sqlx::Executor;

#[tokio::test]
async fn every_statement_prepares_against_the_schema() {
    let pool = clone_migrated().await.pool().await;
    let mut misfits = Vec::new();
    for statement in desk::list_statements() {
        let prepared = pool.prepare(sqlx::SqlSafeStr::into_sql_str(statement.sql())).await;
        misfits.extend(prepared.err().map(|error| format!("{}: {error}", statement.name())));
    }
    assert!(misfits.is_empty(), "{}", misfits.join("\n"));
}
