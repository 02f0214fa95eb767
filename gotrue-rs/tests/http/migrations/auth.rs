use std::collections::BTreeSet;
use std::time::Duration;

use gotrue_rs::store::migrate::{self, AuthMigrateError, AuthSchemaOutcome, RecoveryCodesOutcome};
use gotrue_rs::testing::clone_migrated;
use platform::testing::TestDatabase;
use sqlx::PgPool;

use super::newer::make_newer;

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

fn refused(outcome: Result<AuthSchemaOutcome, AuthMigrateError>) -> String {
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
    let database = clone_migrated().await;
    let mut other = database.pool().await.acquire().await.expect("the test server answers");
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(platform::store::migrate::ADVISORY_LOCK)
        .execute(&mut *other)
        .await
        .expect("the lock is free");
    let read_only = database.admin_options().options([("default_transaction_read_only", "on")]);
    let pool = PgPool::connect_with(read_only).await.expect("the test server answers");

    let outcome = tokio::time::timeout(Duration::from_secs(10), migrate::migrate_auth(&pool, "auth")).await;

    assert_eq!(outcome.expect("nothing is waited for").expect("it is up to date"), AuthSchemaOutcome::Unchanged);
}

#[tokio::test]
async fn schema_of_a_newer_supabase_auth_is_served_unchanged() {
    let database = clone_migrated().await;
    make_newer(&database).await;
    let before = described(&database).await;

    let outcome = migrate::migrate_auth(&database.pool().await, "auth").await;

    assert_eq!(outcome.expect("it has what is needed"), AuthSchemaOutcome::Newer);
    assert_eq!(described(&database).await, before);
}

/// The columns of schema `auth` and the recorded versions.
async fn described(database: &TestDatabase) -> Vec<String> {
    let columns = "SELECT concat_ws(' ', table_name, column_name, data_type) AS line FROM information_schema.columns
                   WHERE table_schema = 'auth' ORDER BY line";
    [database.query(columns).await, versions(database).await].concat()
}

#[tokio::test]
async fn unrecorded_versions_of_a_complete_schema_are_no_hindrance() {
    let database = clone_migrated().await;
    database.query("DELETE FROM auth.schema_migrations").await;

    let outcome = migrate::migrate_auth(&database.pool().await, "auth").await;

    assert_eq!(outcome.expect("it has what is needed"), AuthSchemaOutcome::Unchanged);
    assert_eq!(versions(&database).await, [""; 0]);

    database.query("DROP TABLE auth.schema_migrations").await;
    let outcome = migrate::migrate_auth(&database.pool().await, "auth").await;
    assert_eq!(outcome.expect("it has what is needed"), AuthSchemaOutcome::Unchanged);
}

#[tokio::test]
async fn older_schema_is_refused_with_what_it_lacks() {
    let database = clone_migrated().await;
    database.query("DELETE FROM auth.schema_migrations WHERE version IN ('20260302000000', '20260625000000')").await;
    database.query("ALTER TABLE auth.custom_oauth_providers DROP COLUMN custom_claims_allowlist").await;
    database.query("DROP TABLE auth.webauthn_credentials").await;
    let before = described(&database).await;

    let reported = refused(migrate::migrate_auth(&database.pool().await, "auth").await);

    let missing = "it lacks column custom_oauth_providers.custom_claims_allowlist, table webauthn_credentials";
    assert!(reported.contains(missing), "{reported}");
    assert!(reported.contains("2 of its migrations are not recorded (20260302000000, 20260625000000)"), "{reported}");
    assert!(reported.contains("`auth migrate`"), "{reported}");
    assert_eq!(described(&database).await, before);
}

#[tokio::test]
async fn change_that_would_lose_data_is_refused_with_its_name() {
    for (change, named) in [
        ("ALTER TABLE auth.users ADD COLUMN tenant uuid NOT NULL", "does not know in users.tenant"),
        ("ALTER TABLE auth.sessions ALTER COLUMN tag SET NOT NULL", "does not know in sessions.tag"),
        (
            "ALTER TABLE auth.mfa_factors ALTER COLUMN web_authn_aaguid TYPE text",
            "column mfa_factors.web_authn_aaguid is text in place of uuid",
        ),
        ("ALTER TYPE auth.aal_level RENAME VALUE 'aal2' TO 'two'", "value aal2 of aal_level"),
        ("DROP INDEX auth.users_email_partial_key", "unique index on users (email) WHERE is_sso_user = false"),
        ("ALTER TABLE auth.mfa_factors DROP CONSTRAINT mfa_factors_last_challenged_at_key", ""),
        ("ALTER TABLE auth.users ADD COLUMN region text NOT NULL DEFAULT 'eu'", ""),
        ("ALTER TABLE auth.users ALTER COLUMN email_change_token_new TYPE text", ""),
    ] {
        let database = clone_migrated().await;
        database.query("INSERT INTO auth.schema_migrations VALUES ('20270101000000')").await;
        database.query(change).await;

        let outcome = migrate::migrate_auth(&database.pool().await, "auth").await;

        if named.is_empty() {
            assert_eq!(outcome.expect(change), AuthSchemaOutcome::Newer);
        } else {
            let reported = refused(outcome);
            assert!(reported.contains(named), "{change}: {reported}");
            assert!(reported.contains("newer Supabase Auth (20270101000000)"), "{reported}");
        }
    }
}

#[tokio::test]
async fn long_lists_are_abbreviated() {
    let database = clone_migrated().await;
    database.query("DELETE FROM auth.schema_migrations").await;
    database.query("DROP TABLE auth.webauthn_credentials").await;

    let reported = refused(migrate::migrate_auth(&database.pool().await, "auth").await);

    assert!(reported.contains("70 of its migrations are not recorded (00, 20210710035447,"), "{reported}");
    assert!(reported.contains(", … 20260625000000)"), "{reported}");
    assert!(reported.len() < 450, "{reported}");
}

#[tokio::test]
async fn foreign_tables_are_refused_and_unchanged() {
    let database = prepared().await;
    database.query("CREATE TABLE auth.accounts (id int)").await;

    let reported = refused(migrate::migrate_auth(&superuser(&database).await, "auth").await);

    assert!(reported.contains("it lacks table audit_log_entries,"), "{reported}");
    assert!(reported.contains("70 of its migrations"), "{reported}");
    assert_eq!(database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'auth'").await, ["accounts"]);
}

#[tokio::test]
async fn tables_of_recovery_codes_are_created_once_with_the_shape_of_the_reference() {
    let (ours, theirs) = (TestDatabase::clone_empty().await, TestDatabase::clone_empty().await);
    for database in [&ours, &theirs] {
        migrate::migrate_auth(&superuser(database).await, "auth").await.expect("an empty database is filled");
    }
    make_newer(&theirs).await;
    let pool = ours.pool().await;

    let outcomes = futures::future::join_all((0..4).map(|_| migrate::migrate_recovery_codes(&pool, "auth"))).await;

    let outcomes: Vec<_> = outcomes.into_iter().map(|outcome| outcome.expect("the role owns the schema")).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == RecoveryCodesOutcome::Created).count(), 1, "{outcomes:?}");
    let found = migrate::migrate_recovery_codes(&theirs.pool().await, "auth").await.expect("the shape is the same");
    assert_eq!(found, RecoveryCodesOutcome::Unchanged);
    let shape = "SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                        pg_get_expr(d.adbin, d.adrelid)) AS line
                 FROM pg_attribute a
                 JOIN pg_class c ON c.oid = a.attrelid AND c.relname LIKE 'mfa_recovery_code%'
                 LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                 WHERE a.attnum > 0
                 UNION ALL
                 SELECT concat_ws(' ', conname, pg_get_constraintdef(oid)) FROM pg_constraint
                 WHERE conname LIKE 'mfa_recovery_code%'
                 ORDER BY line";
    assert_eq!(ours.query(shape).await, theirs.query(shape).await);
    assert_eq!(owners(&ours, "auth").await, BTreeSet::from(["supabase_auth_admin".to_owned()]));
}

#[tokio::test]
async fn other_tables_with_the_names_of_recovery_codes_are_refused() {
    let database = TestDatabase::clone_empty().await;
    migrate::migrate_auth(&superuser(&database).await, "auth").await.expect("an empty database is filled");
    database.query("ALTER TYPE auth.factor_type ADD VALUE 'recovery_code'").await;
    database.query("CREATE TABLE auth.mfa_recovery_code_sets (id uuid PRIMARY KEY)").await;
    database.query("CREATE TABLE auth.mfa_recovery_codes (id uuid PRIMARY KEY, code text)").await;

    let outcome = migrate::migrate_recovery_codes(&superuser(&database).await, "auth").await;

    let reported = outcome.expect_err("the tables are others").to_string();
    assert!(reported.contains("column mfa_recovery_codes.code_hash"), "{reported}");
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

    let created = outcomes.iter().filter(|outcome| matches!(outcome, Ok(AuthSchemaOutcome::Created))).count();
    let unchanged = outcomes.iter().filter(|outcome| matches!(outcome, Ok(AuthSchemaOutcome::Unchanged))).count();
    assert_eq!((created, unchanged), (1, 5), "{outcomes:?}");
}

#[tokio::test]
async fn rls_functions_read_the_request_settings() {
    let database = clone_migrated().await;
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

    platform::store::migrate::create_roles(&pool, "it's one").await.expect("roles can be made");
    platform::store::migrate::create_roles(&pool, "another").await.expect("roles can be made again");

    let named = "SELECT rolname FROM pg_roles WHERE rolname IN ('supabase_auth_admin', 'anon', 'authenticated', 'service_role', 'dashboard_user')";
    assert_eq!(database.query(named).await.len(), 5);
    assert_eq!(
        migrate::migrate_auth(&database.pool().await, "auth").await.expect("the role may fill it"),
        AuthSchemaOutcome::Created
    );
}
