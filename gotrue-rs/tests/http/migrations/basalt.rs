use std::collections::BTreeSet;
use std::path::Path;

use gotrue_rs::store::migrate::{self, File};
use gotrue_rs::testing::TestDatabase;
use sqlx::PgPool;

const FIRST: File = File { name: "0001-first.sql", sql: "CREATE TABLE first (id int); INSERT INTO first VALUES (1);" };
const SECOND: File = File { name: "0002-second.sql", sql: "CREATE TABLE basalt.second (id int);" };

async fn superuser(database: &TestDatabase) -> PgPool {
    PgPool::connect_with(database.admin_options()).await.expect("the test server answers")
}

async fn tables(database: &TestDatabase) -> Vec<String> {
    database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'basalt' ORDER BY tablename").await
}

#[test]
fn every_file_of_the_folder_is_run_in_the_order_of_its_number() {
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
async fn each_file_runs_once() {
    let database = TestDatabase::empty().await;
    let pool = superuser(&database).await;

    assert_eq!(migrate::files(&pool, &[FIRST]).await.expect("it runs"), [FIRST.name]);
    assert_eq!(migrate::files(&pool, &[FIRST, SECOND]).await.expect("it runs"), [SECOND.name]);
    assert_eq!(migrate::files(&pool, &[FIRST, SECOND]).await.expect("nothing is left"), [""; 0]);

    assert_eq!(tables(&database).await, ["first", "migrations", "second"]);
    assert_eq!(database.query("SELECT id FROM basalt.first").await, ["1"]);
}

#[tokio::test]
async fn a_file_that_changed_after_it_ran_stops_the_rest() {
    let database = TestDatabase::empty().await;
    let pool = superuser(&database).await;
    migrate::files(&pool, &[FIRST]).await.expect("it runs");

    let changed = File { sql: "CREATE TABLE first (id bigint);", ..FIRST };
    let said = migrate::files(&pool, &[changed, SECOND]).await.expect_err("it must be refused").to_string();

    assert!(said.contains("0001-first.sql was changed"), "{said}");
    assert_eq!(tables(&database).await, ["first", "migrations"]);
}

#[tokio::test]
async fn what_a_later_server_made_is_refused() {
    let database = TestDatabase::empty().await;
    let pool = superuser(&database).await;
    migrate::files(&pool, &[FIRST, SECOND]).await.expect("they run");

    let said = migrate::files(&pool, &[FIRST]).await.expect_err("it must be refused").to_string();

    assert!(said.contains("0002-second.sql") && said.contains("newer"), "{said}");
}

#[tokio::test]
async fn a_file_that_fails_leaves_nothing_of_itself() {
    let database = TestDatabase::empty().await;
    let pool = superuser(&database).await;
    let broken = File { name: "0002-broken.sql", sql: "CREATE TABLE half (id int); CREATE TABLE half (id int);" };

    migrate::files(&pool, &[FIRST, broken]).await.expect_err("the second file must fail");

    assert_eq!(tables(&database).await, ["first", "migrations"]);
    assert_eq!(migrate::files(&pool, &[FIRST, SECOND]).await.expect("it goes on"), [SECOND.name]);
}

#[tokio::test]
async fn of_servers_that_start_at_once_one_runs_each_file() {
    let database = TestDatabase::empty().await;
    let pool = superuser(&database).await;

    let outcomes = futures::future::join_all((0..6).map(|_| migrate::files(&pool, &[FIRST, SECOND]))).await;

    let mut ran: Vec<&str> = outcomes.into_iter().flat_map(|it| it.expect("each server starts")).collect();
    ran.sort_unstable();
    assert_eq!(ran, [FIRST.name, SECOND.name]);
}
