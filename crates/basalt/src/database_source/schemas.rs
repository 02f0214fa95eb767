//! Roles, schemas and the template of the databases of worlds.

use anyhow::Context;
use foundation::database_url::with_database;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rs::store::migrate;
use gotrue_rules::domain::policy::{ApiPolicy, IndexWorkerPolicy};
use platform::store::migrate::{DatabaseAdministrator, DatabaseName};
use sqlx::AssertSqlSafe;

use crate::database;

/// The role that owns and uses the tables.
pub(crate) const ROLE: &str = "supabase_auth_admin";
/// The database that worlds are copied from.
pub(crate) const TEMPLATE: &str = "world_template";
/// The database of a new cluster that servers use.
pub(crate) const EMBEDDED_DEFAULT: &str = "postgres";
/// The database to which the administrator connects: one that is never copied, renamed or dropped.
const ADMINISTRATION: &str = "template1";

/// Creates the roles of the embedded database; in an external one the operator creates them.
pub(crate) async fn create_roles(superuser: &DatabaseSettings, password: &str) -> anyhow::Result<()> {
    let pool = database::build_migration_pool(superuser).await?;
    platform::store::migrate::create_roles(&pool, password).await?;
    pool.close().await;
    Ok(())
}

/// Sets the password of the superuser, who is connected.
pub(crate) async fn set_superuser_password(superuser: &DatabaseSettings, password: &str) -> anyhow::Result<()> {
    let pool = database::build_migration_pool(superuser).await?;
    // `ALTER ROLE` takes no parameters.
    let statement: String = sqlx::query_scalar("SELECT format('ALTER ROLE CURRENT_USER PASSWORD %L', $1)")
        .persistent(false)
        .bind(password)
        .fetch_one(&pool)
        .await
        .context("formatting the password of the superuser")?;
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&pool).await.context("setting the password of the superuser")?;
    pool.close().await;
    Ok(())
}

/// Creates the schemas, and the tables of recovery codes where requests may use them.
pub(crate) async fn migrate_schemas(settings: &DatabaseSettings, has_recovery_codes: bool) -> anyhow::Result<()> {
    let pool = database::build_migration_pool(settings).await?;
    migrate::migrate_auth(&pool, &settings.namespace).await.context("preparing schema auth")?;
    if has_recovery_codes {
        migrate::migrate_recovery_codes(&pool, &settings.namespace).await.context("preparing schema auth")?;
    }
    platform::store::migrate::migrate_basalt(&pool).await.context("preparing schema basalt")?;
    pool.close().await;
    Ok(())
}

/// Creates the template in a new cluster whose default database has all schemas.
pub(crate) async fn create_template(superuser_url: &str) -> anyhow::Result<()> {
    create_indexes(superuser_url).await?;
    let administrator = build_administrator(superuser_url).await?;
    administrator.copy(&name(EMBEDDED_DEFAULT)?, &name(TEMPLATE)?).await?;
    administrator.close().await;
    Ok(())
}

/// Replaces the database of a cluster that servers use by one without schemas.
pub(crate) async fn recreate_database(superuser_url: &str) -> anyhow::Result<()> {
    let administrator = build_administrator(superuser_url).await?;
    let name = name(EMBEDDED_DEFAULT)?;
    administrator.drop(&name).await?;
    administrator.create_empty(&name).await?;
    administrator.close().await;
    Ok(())
}

/// Connects as the role of this URL, which may create databases.
///
/// Of several servers it uses the one that accepts writes now.
pub(crate) async fn build_administrator(url: &str) -> anyhow::Result<DatabaseAdministrator> {
    let url = with_database(url, ADMINISTRATION);
    let settings = DatabaseSettings { url: Secret::from(url.as_str()), ..DatabaseSettings::default() };
    Ok(DatabaseAdministrator::new(database::build_administration_pool(&settings).await?))
}

/// Creates the indexes for searching users.
pub(crate) async fn create_indexes(url: &str) -> anyhow::Result<()> {
    let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
    let pool = database::build_pool(&settings, &ApiPolicy::default())?;
    let worker = IndexWorkerPolicy { ensure_user_search_indexes_exist: true, ..IndexWorkerPolicy::default() };
    migrate::create_indexes(&pool, &worker, None).await?;
    pool.close().await;
    Ok(())
}

/// Returns a name of a database.
pub(crate) fn name(text: &str) -> anyhow::Result<DatabaseName> {
    DatabaseName::parse(text).context("naming a database")
}
