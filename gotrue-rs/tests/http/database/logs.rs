//! What the log says of the database: names of statements, whole chains of causes, no SQL.

use std::sync::Arc;

use gotrue_rs::testing::{World, clone_migrated};
use platform::store::{Connection, PoolOptions, Statement};
use platform::testing::Recording;
use platform::{bind, statement};

#[tokio::test]
async fn slow_statement_is_logged_by_name_without_sql() {
    const SLEEP: Statement = statement!("tests.sleep": "SELECT pg_sleep(:seconds::float8)");
    let database = clone_migrated().await;
    let mut connection = Connection::pooled(database.auth_pool(), Arc::default());
    Recording::start();
    connection.execute(bind!(SLEEP, seconds: 1.1_f64)).await.expect("the database sleeps");
    let log = Recording::stop().text();
    assert!(log.contains("slow statement") && log.contains("tests.sleep"), "{log}");
    assert!(!log.contains("pg_sleep"), "{log}");
}

#[tokio::test]
async fn unusable_database_is_logged_with_all_causes() {
    let world = World::builder()
        .pool(|usual| PoolOptions { connect: usual.connect.clone().database("nowhere"), ..usual })
        .build()
        .await;
    Recording::start();
    world.try_password("ann@example.com", "wrong").await.expect(503);
    let log = Recording::stop().text();
    assert!(log.contains("users.by_email"), "{log}");
    assert!(log.contains("database \"nowhere\" does not exist"), "{log}");
    assert!(!log.contains("SELECT"), "{log}");
}
