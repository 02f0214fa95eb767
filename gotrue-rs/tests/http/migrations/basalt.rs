use std::collections::BTreeSet;
use std::path::Path;

use platform::store::migrate::{MigrationFile, MigrationStep};
use platform::testing::TestDatabase;
use sqlx::PgPool;

const FIRST: MigrationFile = MigrationFile {
    name: "0001-first.sql",
    sql: "CREATE TABLE first (id int); INSERT INTO first VALUES (1);",
    step: MigrationStep::Expand,
};
const SECOND: MigrationFile =
    MigrationFile { name: "0002-second.sql", sql: "CREATE TABLE basalt.second (id int);", step: MigrationStep::Expand };
const TENTH: MigrationFile = MigrationFile {
    name: "0010-tenth.sql",
    sql: "ALTER TABLE first ADD COLUMN note text;",
    step: MigrationStep::Expand,
};
const ELEVENTH: MigrationFile = MigrationFile {
    name: "0011-eleventh.sql",
    sql: "ALTER TABLE first DROP COLUMN id;",
    step: MigrationStep::Contract { unused_since: 10 },
};

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
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
        .collect();

    let listed: Vec<&str> = platform::store::migrate::FILES.iter().map(|file| file.name).collect();

    assert_eq!(listed, found.iter().map(String::as_str).collect::<Vec<_>>());
}

#[tokio::test]
async fn each_migration_runs_once() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;

    assert_eq!(platform::store::migrate::run_files(&pool, &[FIRST]).await.expect("it runs"), [FIRST.name]);
    assert_eq!(platform::store::migrate::run_files(&pool, &[FIRST, SECOND]).await.expect("it runs"), [SECOND.name]);
    assert_eq!(platform::store::migrate::run_files(&pool, &[FIRST, SECOND]).await.expect("nothing is left"), [""; 0]);

    assert_eq!(tables(&database).await, ["first", "migrations", "second"]);
    assert_eq!(database.query("SELECT id FROM basalt.first").await, ["1"]);
}

#[tokio::test]
async fn changed_migration_is_refused() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;
    platform::store::migrate::run_files(&pool, &[FIRST]).await.expect("it runs");

    let changed = MigrationFile { sql: "CREATE TABLE first (id bigint);", ..FIRST };
    let reported = platform::store::migrate::run_files(&pool, &[changed, SECOND])
        .await
        .expect_err("it must be refused")
        .to_string();

    assert!(reported.contains("0001-first.sql was changed"), "{reported}");
    assert_eq!(tables(&database).await, ["first", "migrations"]);
}

#[test]
fn migrations_keep_the_rules_of_expand_and_contract() {
    let violations = platform::store::migrate::check_files(platform::store::migrate::FILES);
    assert!(violations.is_empty(), "docs/adding.md, \"A migration\":\n{}", violations.join("\n"));
}

#[tokio::test]
async fn servers_of_two_versions_migrate_and_restart() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;
    let ninth = MigrationFile { name: "0009-ninth.sql", ..FIRST };
    let old = [ninth];
    let newer = [ninth, TENTH];
    let newest = [ninth, TENTH, ELEVENTH];
    platform::store::migrate::run_files(&pool, &old).await.expect("the old server starts");
    assert_eq!(platform::store::migrate::run_files(&pool, &newer).await.expect("the newer one starts"), [TENTH.name]);
    assert_eq!(platform::store::migrate::run_files(&pool, &old).await.expect("the old one starts again"), [""; 0]);
    assert_eq!(platform::store::migrate::run_files(&pool, &newest).await.expect("the newest starts"), [ELEVENTH.name]);
    assert_eq!(
        platform::store::migrate::run_files(&pool, &newer).await.expect("the one before it starts again"),
        [""; 0]
    );

    let reported = platform::store::migrate::run_files(&pool, &old).await.expect_err("it must be refused").to_string();

    assert!(reported.contains("(0011-eleventh.sql)") && reported.contains("up to 0010"), "{reported}");
    assert!(reported.contains("this one has those up to 0009"), "{reported}");
    let recorded = "SELECT name || ' ' || compatible_since FROM basalt.migrations ORDER BY name";
    assert_eq!(database.query(recorded).await, ["0009-ninth.sql 8", "0010-tenth.sql 8", "0011-eleventh.sql 10"]);
}

#[tokio::test]
async fn journal_of_an_older_server_is_read_and_extended() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;
    platform::store::migrate::run_files(&pool, &[FIRST]).await.expect("it runs");
    database.query("ALTER TABLE basalt.migrations DROP COLUMN compatible_since").await;

    assert_eq!(platform::store::migrate::run_files(&pool, &[FIRST]).await.expect("nothing is left"), [""; 0]);
    assert_eq!(platform::store::migrate::run_files(&pool, &[FIRST, SECOND]).await.expect("it runs"), [SECOND.name]);

    let recorded = database.query("SELECT coalesce(compatible_since::text, '-') FROM basalt.migrations ORDER BY name");
    assert_eq!(recorded.await, ["-", "8"]);
}

#[tokio::test]
async fn newer_schema_is_refused() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;
    platform::store::migrate::run_files(&pool, &[FIRST, SECOND]).await.expect("they run");

    let reported =
        platform::store::migrate::run_files(&pool, &[FIRST]).await.expect_err("it must be refused").to_string();

    assert!(reported.contains("0002-second.sql") && reported.contains("newer"), "{reported}");
}

#[tokio::test]
async fn failed_migration_is_rolled_back() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;
    let sql = "CREATE TABLE half (id int); CREATE TABLE half (id int);";
    let broken = MigrationFile { name: "0002-broken.sql", sql, ..SECOND };

    platform::store::migrate::run_files(&pool, &[FIRST, broken]).await.expect_err("the second file must fail");

    assert_eq!(tables(&database).await, ["first", "migrations"]);
    assert_eq!(platform::store::migrate::run_files(&pool, &[FIRST, SECOND]).await.expect("it goes on"), [SECOND.name]);
}

#[tokio::test]
async fn concurrent_servers_run_each_migration_once() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;

    let outcomes =
        futures::future::join_all((0..6).map(|_| platform::store::migrate::run_files(&pool, &[FIRST, SECOND]))).await;

    let mut ran: Vec<&str> = outcomes.into_iter().flat_map(|outcome| outcome.expect("each server starts")).collect();
    ran.sort_unstable();
    assert_eq!(ran, [FIRST.name, SECOND.name]);
}
