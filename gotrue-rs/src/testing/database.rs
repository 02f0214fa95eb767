//! A database per test with the schema of auth.

use platform::store::migrate::migrate_basalt;
use platform::testing::{DatabaseTemplate, TestDatabase};
use sqlx::PgPool;

use crate::store::migrate::{migrate_auth, migrate_recovery_codes};

/// Roles, schema `auth` and schema `basalt`.
static AUTH: DatabaseTemplate = DatabaseTemplate::new("template_auth", |pool| Box::pin(fill_auth(pool)));

/// Returns a clone of the migrated template: schema `auth` and schema `basalt`, both empty.
pub async fn clone_migrated() -> TestDatabase {
    TestDatabase::clone_template(&AUTH).await
}

async fn fill_auth(pool: PgPool) {
    migrate_auth(&pool, "auth").await.expect("schema auth can be made");
    migrate_recovery_codes(&pool, "auth").await.expect("the tables of recovery codes can be made");
    migrate_basalt(&pool).await.expect("schema basalt can be made");
}
