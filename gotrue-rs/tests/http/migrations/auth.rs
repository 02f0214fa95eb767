use std::collections::BTreeSet;
use std::time::Duration;

use gotrue_rs::store::migrate::{self, AuthSchemaOutcome, MigrateError};
use gotrue_rs::testing::TestDatabase;
use sqlx::PgPool;

const VERSIONS: &str = include_str!("../../../../sql/auth/versions.txt");

/// A prepared database: an empty schema that belongs to the role of the auth server.
async fn prepared() -> TestDatabase {
    let database = TestDatabase::clone_empty().await;
    database.query("CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin").await;
    database
}

async fn versions(database: &TestDatabase) -> Vec<String> {
    database.query("SELECT version FROM auth.schema_migrations ORDER BY version").await
}

async fn owners(database: &TestDatabase, schema: &str) -> BTreeSet<String> {
    let sql = format!(
        "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace"
    );
    database.query(&sql).await.into_iter().collect()
}

async fn superuser(database: &TestDatabase) -> PgPool {
    PgPool::connect_with(database.admin_options()).await.expect("the test server answers")
}

fn refused(outcome: Result<AuthSchemaOutcome, MigrateError>) -> String {
    outcome.expect_err("this database must be refused").to_string()
}

#[tokio::test]
async fn empty_database_gets_schema_and_versions() {
    let database = prepared().await;

    let outcome = migrate::migrate_auth(&database.pool().await, "auth").await;

    assert_eq!(outcome.expect("an empty database is filled"), AuthSchemaOutcome::Created);
    assert_eq!(versions(&database).await, VERSIONS.lines().collect::<Vec<_>>());
    assert_eq!(database.query("SELECT count(*) FROM pg_tables WHERE schemaname = 'auth'").await, ["23"]);
    assert_eq!(owners(&database, "auth").await, BTreeSet::from(["supabase_auth_admin".to_owned()]));
}

#[tokio::test]
async fn superuser_migrates_as_the_schema_owner() {
    let database = prepared().await;

    migrate::migrate_auth(&superuser(&database).await, "auth").await.expect("an empty database is filled");

    assert_eq!(owners(&database, "auth").await, BTreeSet::from(["supabase_auth_admin".to_owned()]));
}

#[tokio::test]
async fn missing_schema_is_created() {
    let database = TestDatabase::clone_empty().await;

    migrate::migrate_auth(&superuser(&database).await, "auth").await.expect("an empty database is filled");

    assert_eq!(owners(&database, "auth").await, BTreeSet::from(["supabase_auth_admin".to_owned()]));
}

#[tokio::test]
async fn schema_name_is_configurable() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;
    let name = r#"Our "accounts"; --"#;

    assert_eq!(
        migrate::migrate_auth(&pool, name).await.expect("an empty database is filled"),
        AuthSchemaOutcome::Created
    );
    assert_eq!(migrate::migrate_auth(&pool, name).await.expect("it is up to date"), AuthSchemaOutcome::Unchanged);

    let schemas =
        "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename IN ('users', 'sessions', 'schema_migrations')";
    assert_eq!(database.query(schemas).await, [name]);
}

#[tokio::test]
async fn invalid_schema_name_is_refused() {
    let pool = superuser(&TestDatabase::clone_empty().await).await;

    for name in ["", &"a".repeat(64), "a\0b"] {
        assert!(refused(migrate::migrate_auth(&pool, name).await).contains("DB_NAMESPACE"), "{name:?}");
    }
}

#[tokio::test]
async fn current_schema_is_used_without_write_or_lock() {
    let database = TestDatabase::clone_migrated().await;
    let mut other = database.pool().await.acquire().await.expect("the test server answers");
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(migrate::ADVISORY_LOCK)
        .execute(&mut *other)
        .await
        .expect("the lock is free");
    let read_only = database.admin_options().options([("default_transaction_read_only", "on")]);
    let pool = PgPool::connect_with(read_only).await.expect("the test server answers");

    let outcome = tokio::time::timeout(Duration::from_secs(10), migrate::migrate_auth(&pool, "auth")).await;

    assert_eq!(outcome.expect("nothing is waited for").expect("it is up to date"), AuthSchemaOutcome::Unchanged);
}

#[tokio::test]
async fn differing_versions_are_reported_without_changes() {
    let database = TestDatabase::clone_migrated().await;
    database.query("DELETE FROM auth.schema_migrations WHERE version IN ('00', '20260625000000')").await;
    database.query("INSERT INTO auth.schema_migrations VALUES ('20270101000000')").await;
    let before = versions(&database).await;

    let reported = refused(migrate::migrate_auth(&database.pool().await, "auth").await);

    assert!(reported.contains("2 missing (00, 20260625000000)"), "{reported}");
    assert!(reported.contains("1 unknown (20270101000000)"), "{reported}");
    assert!(reported.contains("`auth migrate`"), "{reported}");
    assert_eq!(versions(&database).await, before);
}

#[tokio::test]
async fn long_version_list_is_abbreviated() {
    let database = TestDatabase::clone_migrated().await;
    database.query("DELETE FROM auth.schema_migrations").await;

    let reported = refused(migrate::migrate_auth(&database.pool().await, "auth").await);

    assert!(reported.contains("70 missing (00, 20210710035447,"), "{reported}");
    assert!(reported.contains(", … 20260625000000)"), "{reported}");
    assert!(reported.len() < 400, "{reported}");
}

#[tokio::test]
async fn foreign_tables_are_refused_and_unchanged() {
    let database = prepared().await;
    database.query("CREATE TABLE auth.accounts (id int)").await;

    let reported = refused(migrate::migrate_auth(&superuser(&database).await, "auth").await);

    assert!(reported.contains("70 missing"), "{reported}");
    assert_eq!(database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'auth'").await, ["accounts"]);
}

#[tokio::test]
async fn failed_migration_is_rolled_back() {
    let database = prepared().await;
    database.query("CREATE TYPE auth.oauth_response_type AS ENUM ('mine')").await;

    let reported = refused(migrate::migrate_auth(&superuser(&database).await, "auth").await);

    assert!(reported.contains("oauth_response_type"), "{reported}");
    assert_eq!(database.query("SELECT relname FROM pg_class WHERE relnamespace = 'auth'::regnamespace").await, [""; 0]);
}

#[tokio::test]
async fn concurrent_servers_create_the_schema_once() {
    let database = prepared().await;
    let pool = database.pool().await;

    let outcomes = futures::future::join_all((0..6).map(|_| migrate::migrate_auth(&pool, "auth"))).await;

    let created = outcomes.iter().filter(|it| matches!(it, Ok(AuthSchemaOutcome::Created))).count();
    let unchanged = outcomes.iter().filter(|it| matches!(it, Ok(AuthSchemaOutcome::Unchanged))).count();
    assert_eq!((created, unchanged), (1, 5), "{outcomes:?}");
}

#[tokio::test]
async fn rls_functions_read_the_request_settings() {
    let database = TestDatabase::clone_migrated().await;
    let requested = |settings: &str| {
        format!("SELECT concat_ws(' ', auth.uid(), auth.role(), auth.email(), auth.jwt()) FROM (SELECT {settings}) s")
    };
    let claims =
        r#"{"sub": "11111111-1111-4111-8111-111111111111", "role": "authenticated", "email": "ann@example.com"}"#;

    let all = database.query(&requested(&format!("set_config('request.jwt.claims', '{claims}', true)"))).await;
    let single = database.query(&requested("set_config('request.jwt.claim.role', 'anon', true)")).await;
    let emptied = database.query(&requested("set_config('request.jwt.claims', '', true)")).await;

    assert!(all[0].starts_with("11111111-1111-4111-8111-111111111111 authenticated ann@example.com {"), "{all:?}");
    assert_eq!(single, ["anon"]);
    assert_eq!(emptied, [""]);
}

#[tokio::test]
async fn roles_can_be_recreated_with_another_password() {
    let database = TestDatabase::clone_empty().await;
    let pool = superuser(&database).await;

    migrate::create_roles(&pool, "it's one").await.expect("roles can be made");
    migrate::create_roles(&pool, "another").await.expect("roles can be made again");

    let named = "SELECT rolname FROM pg_roles WHERE rolname IN ('supabase_auth_admin', 'anon', 'authenticated', 'service_role', 'dashboard_user')";
    assert_eq!(database.query(named).await.len(), 5);
    assert_eq!(
        migrate::migrate_auth(&database.pool().await, "auth").await.expect("the role may fill it"),
        AuthSchemaOutcome::Created
    );
}
