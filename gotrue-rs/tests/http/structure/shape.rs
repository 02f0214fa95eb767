//! `sql/auth/shape.txt`: what statements need of schema `auth`, compared with the statements and with the schema.

use std::collections::HashSet;

use gotrue_rs::store::migrate;
use platform::testing::TestDatabase;

use super::list_statements;

#[tokio::test]
async fn start_requires_what_statements_need() {
    let database = TestDatabase::clone_empty().await;
    let pool = database.pool().await;
    database.query("CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin").await;
    migrate::migrate_auth(&pool, "auth").await.expect("an empty database is filled");
    let mut connection = pool.acquire().await.expect("the test server answers");
    let schema = migrate::read_shape(&mut connection, "auth").await.expect("the catalogue is readable");
    let used: HashSet<String> = list_statements().flat_map(|statement| words(statement.sql())).collect();
    let shape = schema
        .retain_used(|word| used.contains(word))
        // The reference drops it in a later version; `challenges.insert` does without.
        .without_key("mfa_factors", "(last_challenged_at)");

    let path = source_rules::repository_root().join("sql/auth/shape.txt");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, shape.format()).expect("the file can be written");
    }
    let written = source_rules::read_text(&path);
    assert!(written == shape.format(), "run UPDATE_DOCS=1 cargo test -p gotrue-rs structure::shape");
}

/// The identifiers of a statement.
fn words(sql: &str) -> Vec<String> {
    sql.split(|character: char| !character.is_alphanumeric() && character != '_').map(str::to_owned).collect()
}
