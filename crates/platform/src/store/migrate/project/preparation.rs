//! The schemas and settings that a local Supabase database has beside the project's own.

use sqlx::{PgConnection, PgPool, Row};

use crate::store::migrate::error::{ErrorContext, MigrateError};
use crate::store::migrate::session::{lock_migrations, run_script};

/// The tables of the migrations that ran.
pub(super) const RECORDS: &str = include_str!("../../../../../../sql/project/supabase_migrations.sql");

/// The files in the order in which they run. The roles exist already.
const FILES: [&str; 9] = [
    include_str!("../../../../../../sql/project.sql"),
    RECORDS,
    include_str!("../../../../../../sql/project/pgjwt.sql"),
    include_str!("../../../../../../sql/project/vault.sql"),
    include_str!("../../../../../../sql/project/cron.sql"),
    include_str!("../../../../../../sql/project/net.sql"),
    include_str!("../../../../../../sql/project/pgmq.sql"),
    include_str!("../../../../../../sql/project/supabase_functions.sql"),
    include_str!("../../../../../../sql/project/realtime.sql"),
];

/// The files of the storage API's schema, in their order.
pub(super) const STORAGE_FILES: [&str; 9] = include!("../../../../../../sql/storage/files.rs");

/// Returns the SQL of all files.
pub fn concatenate_files() -> String {
    FILES.concat() + &STORAGE_FILES.concat()
}

/// Creates what a local Supabase database has beside the schemas of the auth server, unless this version has done so.
///
/// Requires a superuser and the roles of [`super::super::create_roles`]. One transaction; idempotent.
pub async fn prepare_project_database(superuser: &PgPool) -> Result<(), MigrateError> {
    const DOING: &str = "preparing the database for the files of the project";
    // A project may have brought the schema of Supabase Storage itself, which then stays as it is.
    const HAS_OTHER_STORAGE: &str = "SELECT pg_catalog.to_regclass('storage.objects') IS NOT NULL
        AND coalesce(pg_catalog.obj_description(pg_catalog.to_regnamespace('storage'), 'pg_namespace'), '') NOT LIKE 'Basalt:%'";
    let fingerprint = super::super::basalt::checksum(&concatenate_files());
    let mut transaction = superuser.begin().await.during("connecting to the database")?;
    lock_migrations(&mut transaction).await?;
    let read = "SELECT pg_catalog.obj_description(pg_catalog.to_regnamespace('supabase_migrations'), 'pg_namespace')";
    let comment: Option<String> =
        sqlx::raw_sql(read).fetch_one(&mut *transaction).await.and_then(|row| row.try_get(0)).during(DOING)?;
    let expected = format!("Prepared by Basalt: {fingerprint}");
    if comment.as_deref() == Some(&expected) {
        return Ok(());
    }
    let quiet =
        "SET LOCAL client_min_messages = error; SET LOCAL check_function_bodies = off; SET LOCAL search_path = public;";
    let has_other_storage: bool = sqlx::raw_sql(HAS_OTHER_STORAGE)
        .fetch_one(&mut *transaction)
        .await
        .and_then(|row| row.try_get(0))
        .during(DOING)?;
    let storage = if has_other_storage { String::new() } else { STORAGE_FILES.concat() };
    let files = FILES.concat();
    let sql = format!("{quiet} {files} {storage} COMMENT ON SCHEMA supabase_migrations IS '{expected}';");
    run_script(&mut transaction, sql).await.during(DOING)?;
    transaction.commit().await.during(DOING)
}

/// Creates the tables that record migrations in a database of an operator, whose other schemas stay as they are.
pub(super) async fn prepare_records(connection: &mut PgConnection) -> Result<(), MigrateError> {
    let sql = format!("BEGIN; SET LOCAL client_min_messages = warning; {RECORDS} COMMIT");
    run_script(connection, sql).await.during("creating the tables that record migrations")
}
