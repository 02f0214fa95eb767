//! The schema as described by the database.
//!
//! The recordings compare it with GoTrue's; this file compares it with the state after use.

use gotrue_rs::store::migrate::{self, AuthSchemaOutcome};
use gotrue_rs::testing::{FakeProvider, World, clone_migrated};
use platform::testing::TestDatabase;
use sqlx::PgPool;

use super::{Kind, builder, in_turns};

/// One line per object of the schemas `auth` and `basalt`, with all attributes.
const DESCRIPTION: &str = "
SELECT said FROM (
  SELECT concat_ws(' ', 'relation', r.oid::regclass, relkind, pg_get_userbyid(relowner), relacl, relrowsecurity,
    relforcerowsecurity, reloptions)
  FROM pg_class r JOIN ours ON oid_of = relnamespace WHERE relkind <> 'i'
  UNION ALL SELECT concat_ws(' ', 'column', attrelid::regclass, attnum, attname, format_type(atttypid, atttypmod),
    attnotnull, attgenerated, attidentity, pg_get_expr(adbin, adrelid), attacl)
  FROM pg_attribute JOIN pg_class r ON r.oid = attrelid JOIN ours ON oid_of = relnamespace
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attnum > 0
  UNION ALL SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, convalidated, pg_get_constraintdef(c.oid))
  FROM pg_constraint c JOIN ours ON oid_of = connamespace
  UNION ALL SELECT concat_ws(' ', 'index', pg_get_indexdef(indexrelid), indisvalid)
  FROM pg_index JOIN pg_class r ON r.oid = indexrelid JOIN ours ON oid_of = relnamespace
  UNION ALL SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid))
  FROM pg_trigger t JOIN pg_class r ON r.oid = tgrelid JOIN ours ON oid_of = relnamespace WHERE NOT tgisinternal
  UNION ALL SELECT concat_ws(' ', 'function', pg_get_functiondef(p.oid), pg_get_userbyid(proowner), proacl)
  FROM pg_proc p JOIN ours ON oid_of = pronamespace
  UNION ALL SELECT concat_ws(' ', 'value', enumtypid::regtype, enumsortorder, enumlabel)
  FROM pg_enum JOIN pg_type t ON t.oid = enumtypid JOIN ours ON oid_of = typnamespace
  UNION ALL SELECT concat_ws(' ', 'policy', polrelid::regclass, polname, polcmd, pg_get_expr(polqual, polrelid))
  FROM pg_policy JOIN pg_class r ON r.oid = polrelid JOIN ours ON oid_of = relnamespace
  UNION ALL SELECT concat_ws(' ', 'schema', nspname, pg_get_userbyid(nspowner), nspacl)
  FROM pg_namespace JOIN ours ON oid_of = oid
  UNION ALL SELECT concat_ws(' ', 'version', version) FROM auth.schema_migrations
) lines (said) ORDER BY said";

/// All that the database says of its schemas.
pub(super) async fn described(database: &TestDatabase) -> Vec<String> {
    let ours = "(SELECT oid AS oid_of FROM pg_namespace WHERE nspname IN ('auth', 'basalt')) ours";
    let lines = database.query(&DESCRIPTION.replace("JOIN ours", &format!("JOIN {ours}"))).await;
    assert!(lines.len() > 500, "{lines:#?}");
    lines
}

#[tokio::test]
async fn schema_description_detects_differences() {
    let database = clone_migrated().await;
    let before = described(&database).await;
    for change in [
        "ALTER TABLE auth.users ADD COLUMN mine int",
        "CREATE INDEX mine ON auth.users (mine)",
        "GRANT SELECT ON auth.users TO anon",
        "ALTER TYPE auth.aal_level ADD VALUE 'aal4'",
    ] {
        let unchanged = described(&database).await;
        database.query(change).await;
        assert_ne!(described(&database).await, unchanged, "{change}");
    }
    assert_eq!(described(&clone_migrated().await).await, before);
}

#[tokio::test]
async fn server_start_changes_nothing_in_a_used_database() {
    in_turns(async |turn| {
        turn.first.create_user(&turn.new_address()).await;
        let database = &turn.first.database;
        let rows = "SELECT count(*) FROM auth.users";
        let before = (described(database).await, database.query(rows).await);
        let superuser = PgPool::connect_with(database.admin_options()).await.expect("the test server answers");
        let outcome = migrate::migrate_auth(&superuser, "auth").await.expect("it is up to date");
        assert_eq!(outcome, AuthSchemaOutcome::Unchanged);
        assert_eq!(platform::store::migrate::migrate_basalt(&superuser).await.expect("it is up to date"), [""; 0]);
        assert_eq!((described(database).await, database.query(rows).await), before);
    })
    .await;
}

#[tokio::test]
async fn second_server_shares_only_the_database() {
    let github = FakeProvider::start().await;
    let first = builder(Kind::Sealed, &github).build().await;
    let second: World = builder(Kind::Sealed, &github).build().await;
    let ann = first.create_user("ann@example.com").await;
    let user = second.get_as(&ann.access_token, "/user").await;
    assert_eq!(user.refusal(), (403, "user_not_found"));
    assert_eq!(second.refresh(&ann.refresh_token).await.refusal(), (400, "refresh_token_not_found"));
}
