//! The roles of a database that is all ours.

use sqlx::PgPool;

use super::{MigrateError, While, run};

/// Makes the roles of a Supabase project and the empty schema `auth`, as a superuser, and gives `supabase_auth_admin` this
/// password. Safe to repeat.
pub async fn roles(superuser: &PgPool, auth_admin_password: &str) -> Result<(), MigrateError> {
    const ROLES: &str = include_str!("../../../../sql/roles.sql");
    let mut transaction = superuser.begin().await.during("connecting to the database")?;
    sqlx::query("SELECT set_config('basalt.auth_admin_password', $1, true)")
        .persistent(false)
        .bind(auth_admin_password)
        .execute(&mut *transaction)
        .await
        .during("handing over the password of supabase_auth_admin")?;
    let quiet = "SET LOCAL client_min_messages = warning;";
    run(&mut transaction, format!("{quiet} {ROLES}")).await.during("making the roles")?;
    transaction.commit().await.during("committing the roles")
}
