//! Every statement is prepared against the schema, so that a misspelt column fails here and not in production.

use std::collections::HashSet;

use gotrue_rs::store;
use gotrue_rs::testing::TestDatabase;
use sqlx::Executor;

#[tokio::test]
async fn every_statement_fits_the_schema() {
    let pool = TestDatabase::migrated().await.pool().await;
    let mut misfits = Vec::new();
    for statement in store::statements() {
        let prepared = pool.prepare(sqlx::SqlSafeStr::into_sql_str(statement.sql)).await;
        misfits.extend(prepared.err().map(|error| format!("{}: {error}", statement.name)));
    }
    assert!(misfits.is_empty(), "{}", misfits.join("\n"));
}

#[test]
fn every_statement_has_a_name_of_its_own() {
    let mut names = HashSet::new();
    for statement in store::statements() {
        assert!(names.insert(statement.name), "{} names two statements", statement.name);
    }
}
