use std::collections::BTreeSet;
use std::path::Path;

use gotrue_rs::store::migrate::{self, MigrationFile};
use gotrue_rs::testing::TestDatabase;
use sqlx::PgPool;

const FIRST: MigrationFile =
    MigrationFile { name: "0001-first.sql", sql: "CREATE TABLE first (id int); INSERT INTO first VALUES (1);" };
const SECOND: MigrationFile = MigrationFile { name: "0002-second.sql", sql: "CREATE TABLE basalt.second (id int);" };

async fn superuser(database: &TestDatabase) -> PgPool {
    PgPool::connect_with(database.admin_options()).await.expect("the test server answers")
}

async fn tables(database: &TestDatabase) -> Vec<String> {
    database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'basalt' ORDER BY tablename").await
}

#[test]
fn migrations_run_in_numeric_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/basalt");
    let found: BTreeSet<String> = folder
        .read_dir()
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|it| it == "sql"))
        .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
        .collect();

    let listed: Vec<&str> = migrate::FILES.iter().map(|file| file.name).collect();

    assert_eq!(listed, found.iter().map(String::as_str).collect::<Vec<_>>());
}

#[tokio::test]
async fn each_migration_runs_once() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;

    assert_eq!(migrate::run_files(&pool, &[FIRST]).await.expect("it runs"), [FIRST.name]);
    assert_eq!(migrate::run_files(&pool, &[FIRST, SECOND]).await.expect("it runs"), [SECOND.name]);
    assert_eq!(migrate::run_files(&pool, &[FIRST, SECOND]).await.expect("nothing is left"), [""; 0]);

    assert_eq!(tables(&database).await, ["first", "migrations", "second"]);
    assert_eq!(database.query("SELECT id FROM basalt.first").await, ["1"]);
}

#[tokio::test]
async fn changed_migration_is_refused() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;
    migrate::run_files(&pool, &[FIRST]).await.expect("it runs");

    let changed = MigrationFile { sql: "CREATE TABLE first (id bigint);", ..FIRST };
    let reported = migrate::run_files(&pool, &[changed, SECOND]).await.expect_err("it must be refused").to_string();

    assert!(reported.contains("0001-first.sql was changed"), "{reported}");
    assert_eq!(tables(&database).await, ["first", "migrations"]);
}

#[tokio::test]
async fn newer_schema_is_refused() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;
    migrate::run_files(&pool, &[FIRST, SECOND]).await.expect("they run");

    let reported = migrate::run_files(&pool, &[FIRST]).await.expect_err("it must be refused").to_string();

    assert!(reported.contains("0002-second.sql") && reported.contains("newer"), "{reported}");
}

#[tokio::test]
async fn failed_migration_is_rolled_back() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;
    let broken =
        MigrationFile { name: "0002-broken.sql", sql: "CREATE TABLE half (id int); CREATE TABLE half (id int);" };

    migrate::run_files(&pool, &[FIRST, broken]).await.expect_err("the second file must fail");

    assert_eq!(tables(&database).await, ["first", "migrations"]);
    assert_eq!(migrate::run_files(&pool, &[FIRST, SECOND]).await.expect("it goes on"), [SECOND.name]);
}

#[tokio::test]
async fn concurrent_servers_run_each_migration_once() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;

    let outcomes = futures::future::join_all((0..6).map(|_| migrate::run_files(&pool, &[FIRST, SECOND]))).await;

    let mut ran: Vec<&str> = outcomes.into_iter().flat_map(|it| it.expect("each server starts")).collect();
    ran.sort_unstable();
    assert_eq!(ran, [FIRST.name, SECOND.name]);
}
