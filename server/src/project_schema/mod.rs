//! The database of a project: its migrations and seed files, applied to the embedded database.
//!
//! An external database is never changed: its operator applies the files with the Supabase CLI.

mod files;
mod glob;
mod hook_functions;

use anyhow::Context;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rs::store::migrate::{AppliedFiles, ProjectFile, ProjectSchema, apply_project};
use gotrue_rules::domain::secret::Secret;

pub(crate) use files::{SchemaFiles, list_unserved_functions};
pub(crate) use hook_functions::find_missing_hook_functions;

use crate::database;
use crate::logging::log_notices;
use crate::project::Project;

/// Applies the files of the project that have not run on the embedded database yet.
///
/// `superuser_url` is that of the embedded database.
///
/// # Errors
/// A file cannot be read, or a statement fails; the error names file and line. A statement that needs a service that
/// Basalt does not have is no error.
pub(crate) async fn apply(
    project: &Project,
    superuser_url: &str,
    settings: &DatabaseSettings,
) -> anyhow::Result<AppliedFiles> {
    let files = SchemaFiles::read(project)?;
    log_notices(&files.notices);
    let mut superuser = settings.clone();
    superuser.url = Secret::from(superuser_url);
    let pool = database::build_migration_pool(&superuser).await?;
    let outcome = apply_project(&pool, &files.schema).await;
    pool.close().await;
    let applied = outcome.context(
        "the files of the project were not all applied to the embedded database; [db.migrations] and [db.seed] enabled = false \
         leave them out",
    )?;
    log_applied_files(&applied);
    Ok(applied)
}

/// Applies the migrations of these versions to a new database.
///
/// Seed files do not run. Roles exist already.
///
/// # Errors
/// A file cannot be read, or a statement fails; the migrations before it were applied.
pub(crate) async fn apply_versions(project: &Project, superuser_url: &str, versions: &[String]) -> anyhow::Result<()> {
    let mut files = SchemaFiles::read(project)?.schema;
    files.migrations.retain(|migration| versions.contains(&migration.version));
    // A file of roles, even without statements, prepares the database although no migration may have run.
    let roles = ProjectFile { path: "roles.sql".to_owned(), text: String::new() };
    let schema = ProjectSchema { roles: Some(roles), migrations: files.migrations, seeds: Vec::new() };
    let superuser = DatabaseSettings { url: Secret::from(superuser_url), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&superuser).await?;
    let outcome = apply_project(&pool, &schema).await;
    pool.close().await;
    match outcome?.unsupported {
        Some(error) => Err((*error).into()),
        None => Ok(()),
    }
}

fn log_applied_files(applied: &AppliedFiles) {
    for file in &applied.ran {
        tracing::info!(file, "applied a file of the project");
    }
    for file in &applied.changed_seeds {
        tracing::warn!(file, "the seed file was changed after it ran: `basalt db reset` runs it again");
    }
    for version in &applied.missing_versions {
        tracing::warn!(version, "the database has a migration without a file");
    }
    if let Some(error) = &applied.unsupported {
        tracing::warn!(%error, "a file of the project needs what Basalt does not have: it and the later ones are left out");
    }
}
