//! The roles of a database that is dedicated to this server.

use sqlx::PgPool;

use super::error::{ErrorContext, MigrateError};
use super::session::run_script;

/// The statements that create the roles.
pub const ROLES: &str = include_str!("../../../../../sql/roles.sql");

/// Creates the roles of a Supabase project and the empty schema `auth`.
///
/// Sets the password of `supabase_auth_admin`.
///
/// Requires a superuser. Idempotent.
pub async fn create_roles(superuser: &PgPool, auth_admin_password: &str) -> Result<(), MigrateError> {
    let mut transaction = superuser.begin().await.during("connecting to the database")?;
    sqlx::query("SELECT set_config('basalt.auth_admin_password', $1, true)")
        .persistent(false)
        .bind(auth_admin_password)
        .execute(&mut *transaction)
        .await
        .during("passing the password of supabase_auth_admin")?;
    let quiet = "SET LOCAL client_min_messages = warning;";
    run_script(&mut transaction, format!("{quiet} {ROLES}")).await.during("creating the roles")?;
    transaction.commit().await.during("committing the roles")
}
