use std::collections::BTreeSet;
use std::time::Duration;

use gotrue_rs::store::migrate::{self, MigrateError, Migrated};
use gotrue_rs::testing::TestDatabase;
use sqlx::PgPool;

const VERSIONS: &str = include_str!("../../../../sql/auth/versions.txt");

/// A database as an operator prepares it: the schema is there, empty, and belongs to the auth server's role.
async fn prepared() -> TestDatabase {
    let database = TestDatabase::empty().await;
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

fn refused(outcome: Result<Migrated, MigrateError>) -> String {
    outcome.expect_err("this database must be refused").to_string()
}

#[tokio::test]
async fn an_empty_database_gets_the_schema_and_the_versions_it_stands_for() {
    let database = prepared().await;

    let outcome = migrate::auth(&database.pool().await, "auth").await;

    assert_eq!(outcome.expect("an empty database is filled"), Migrated::Created);
    assert_eq!(versions(&database).await, VERSIONS.lines().collect::<Vec<_>>());
    assert_eq!(database.query("SELECT count(*) FROM pg_tables WHERE schemaname = 'auth'").await, ["23"]);
    assert_eq!(owners(&database, "auth").await, BTreeSet::from(["supabase_auth_admin".to_owned()]));
}

#[tokio::test]
async fn a_superuser_makes_it_in_the_name_of_the_schemas_owner() {
    let database = prepared().await;

    migrate::auth(&superuser(&database).await, "auth").await.expect("an empty database is filled");

    assert_eq!(owners(&database, "auth").await, BTreeSet::from(["supabase_auth_admin".to_owned()]));
}

#[tokio::test]
async fn a_schema_that_is_not_there_is_made() {
    let database = TestDatabase::empty().await;

    migrate::auth(&superuser(&database).await, "auth").await.expect("an empty database is filled");

    assert_eq!(owners(&database, "auth").await, BTreeSet::from(["supabase_auth_admin".to_owned()]));
}

#[tokio::test]
async fn the_schema_may_have_any_name() {
    let database = TestDatabase::empty().await;
    let pool = superuser(&database).await;
    let name = r#"Our "accounts"; --"#;

    assert_eq!(migrate::auth(&pool, name).await.expect("an empty database is filled"), Migrated::Created);
    assert_eq!(migrate::auth(&pool, name).await.expect("it is up to date"), Migrated::Unchanged);

    let schemas =
        "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename IN ('users', 'sessions', 'schema_migrations')";
    assert_eq!(database.query(schemas).await, [name]);
}

#[tokio::test]
async fn a_name_that_cannot_be_a_schemas_is_refused() {
    let pool = superuser(&TestDatabase::empty().await).await;

    for name in ["", &"a".repeat(64), "a\0b"] {
        assert!(refused(migrate::auth(&pool, name).await).contains("DB_NAMESPACE"), "{name:?}");
    }
}

#[tokio::test]
async fn one_that_is_up_to_date_is_used_without_a_write_or_a_lock() {
    let database = TestDatabase::migrated().await;
    let mut other = database.pool().await.acquire().await.expect("the test server answers");
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(migrate::LOCK)
        .execute(&mut *other)
        .await
        .expect("the lock is free");
    let read_only = database.admin_options().options([("default_transaction_read_only", "on")]);
    let pool = PgPool::connect_with(read_only).await.expect("the test server answers");

    let outcome = tokio::time::timeout(Duration::from_secs(10), migrate::auth(&pool, "auth")).await;

    assert_eq!(outcome.expect("nothing is waited for").expect("it is up to date"), Migrated::Unchanged);
}

#[tokio::test]
async fn versions_that_differ_are_named_and_nothing_is_changed() {
    let database = TestDatabase::migrated().await;
    database.query("DELETE FROM auth.schema_migrations WHERE version IN ('00', '20260625000000')").await;
    database.query("INSERT INTO auth.schema_migrations VALUES ('20270101000000')").await;
    let before = versions(&database).await;

    let said = refused(migrate::auth(&database.pool().await, "auth").await);

    assert!(said.contains("2 missing (00, 20260625000000)"), "{said}");
    assert!(said.contains("1 unknown (20270101000000)"), "{said}");
    assert!(said.contains("`auth migrate`"), "{said}");
    assert_eq!(versions(&database).await, before);
}

#[tokio::test]
async fn a_long_list_of_versions_is_shortened_to_its_ends() {
    let database = TestDatabase::migrated().await;
    database.query("DELETE FROM auth.schema_migrations").await;

    let said = refused(migrate::auth(&database.pool().await, "auth").await);

    assert!(said.contains("70 missing (00, 20210710035447,"), "{said}");
    assert!(said.contains(", … 20260625000000)"), "{said}");
    assert!(said.len() < 400, "{said}");
}

#[tokio::test]
async fn tables_of_somebody_else_are_refused_and_stay_alone() {
    let database = prepared().await;
    database.query("CREATE TABLE auth.accounts (id int)").await;

    let said = refused(migrate::auth(&superuser(&database).await, "auth").await);

    assert!(said.contains("70 missing"), "{said}");
    assert_eq!(database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'auth'").await, ["accounts"]);
}

#[tokio::test]
async fn a_failure_half_way_leaves_nothing_behind() {
    let database = prepared().await;
    database.query("CREATE TYPE auth.oauth_response_type AS ENUM ('mine')").await;

    let said = refused(migrate::auth(&superuser(&database).await, "auth").await);

    assert!(said.contains("oauth_response_type"), "{said}");
    assert_eq!(database.query("SELECT relname FROM pg_class WHERE relnamespace = 'auth'::regnamespace").await, [""; 0]);
}

#[tokio::test]
async fn of_servers_that_start_at_once_one_makes_the_schema() {
    let database = prepared().await;
    let pool = database.pool().await;

    let outcomes = futures::future::join_all((0..6).map(|_| migrate::auth(&pool, "auth"))).await;

    let created = outcomes.iter().filter(|it| matches!(it, Ok(Migrated::Created))).count();
    let unchanged = outcomes.iter().filter(|it| matches!(it, Ok(Migrated::Unchanged))).count();
    assert_eq!((created, unchanged), (1, 5), "{outcomes:?}");
}

#[tokio::test]
async fn policies_ask_the_requests_settings_who_is_calling() {
    let database = TestDatabase::migrated().await;
    let asked = |settings: &str| {
        format!("SELECT concat_ws(' ', auth.uid(), auth.role(), auth.email(), auth.jwt()) FROM (SELECT {settings}) s")
    };
    let claims =
        r#"{"sub": "11111111-1111-4111-8111-111111111111", "role": "authenticated", "email": "ann@example.com"}"#;

    let all = database.query(&asked(&format!("set_config('request.jwt.claims', '{claims}', true)"))).await;
    let single = database.query(&asked("set_config('request.jwt.claim.role', 'anon', true)")).await;
    let emptied = database.query(&asked("set_config('request.jwt.claims', '', true)")).await;

    assert!(all[0].starts_with("11111111-1111-4111-8111-111111111111 authenticated ann@example.com {"), "{all:?}");
    assert_eq!(single, ["anon"]);
    assert_eq!(emptied, [""]);
}

#[tokio::test]
async fn the_roles_of_a_project_can_be_made_again_with_another_password() {
    let database = TestDatabase::empty().await;
    let pool = superuser(&database).await;

    migrate::roles(&pool, "it's one").await.expect("roles can be made");
    migrate::roles(&pool, "another").await.expect("roles can be made again");

    let named = "SELECT rolname FROM pg_roles WHERE rolname IN ('supabase_auth_admin', 'anon', 'authenticated', 'service_role', 'dashboard_user')";
    assert_eq!(database.query(named).await.len(), 5);
    assert_eq!(migrate::auth(&database.pool().await, "auth").await.expect("the role may fill it"), Migrated::Created);
}
