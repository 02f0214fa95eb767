//! The database of a project: its migrations and seed files, applied to the embedded database.
//!
//! An external database is changed by `basalt db migrate --database-url` only, never by a start.

mod files;
mod glob;
mod hook_functions;
mod report;
mod vault;

use anyhow::Context;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rules::domain::policy::HooksPolicy;
use platform::store::migrate::{AppliedFiles, ApplyOptions, ProjectSchema, apply_project, prepare_project_database};

pub(crate) use files::{SchemaFiles, list_unserved_functions};
pub(crate) use hook_functions::find_missing_hook_functions;
pub(crate) use report::{INCOMPLETE_STATUS, ProjectReport, SkippedLine};

use crate::database;
use crate::logging::log_notices;
use crate::project::Project;

/// Applies the files of the project that have not run on the embedded database yet, then writes the secrets of `[db.vault]`.
///
/// `superuser_url` is that of the embedded database, `hooks` are those that call its functions.
///
/// # Errors
/// A file cannot be read, or the migrations cannot be ordered. A statement that fails is skipped and reported.
pub(crate) async fn apply(
    project: &Project,
    superuser_url: &str,
    settings: &DatabaseSettings,
    hooks: &HooksPolicy,
) -> anyhow::Result<(AppliedFiles, ProjectReport)> {
    let files = SchemaFiles::read(project)?;
    let applied = apply_files(&files, superuser_url, settings, hooks, ApplyOptions::START).await;
    let applied = applied.context(
        "the files of the project were not all applied to the embedded database; [db.migrations] and [db.seed] enabled = false \
         leave them out",
    )?;
    write_secrets(project, superuser_url, settings).await?;
    Ok(applied)
}

/// Writes the secrets of `[db.vault]` to the vault of the embedded database, whose URL is `superuser_url`.
///
/// # Errors
/// The database cannot be used.
pub(crate) async fn write_secrets(
    project: &Project,
    superuser_url: &str,
    settings: &DatabaseSettings,
) -> anyhow::Result<()> {
    let secrets = project.file.vault_secrets();
    if secrets.is_empty() {
        return Ok(());
    }
    let superuser = DatabaseSettings { url: Secret::from(superuser_url), ..settings.clone() };
    let pool = database::build_migration_pool(&superuser).await?;
    let outcome = vault::write_secrets(&pool, &secrets).await;
    pool.close().await;
    outcome
}

/// Applies files that have not run on the database of `url` yet.
///
/// # Errors
/// The migrations cannot be ordered, or a statement failed on a database of an operator.
pub(crate) async fn apply_files(
    files: &SchemaFiles,
    url: &str,
    settings: &DatabaseSettings,
    hooks: &HooksPolicy,
    options: ApplyOptions,
) -> anyhow::Result<(AppliedFiles, ProjectReport)> {
    log_notices(&files.notices);
    let settings = DatabaseSettings { url: Secret::from(url), ..settings.clone() };
    let pool = database::build_migration_pool(&settings).await?;
    let outcome = apply_project(&pool, &files.schema, options).await;
    let missing_functions = hook_functions::find_functions_missing_in_database(&pool, hooks).await;
    pool.close().await;
    let mut applied = outcome?;
    log_other_files(&applied);
    let skipped = std::mem::take(&mut applied.skipped);
    let left_out = files.left_out.clone();
    Ok((applied, ProjectReport { skipped, missing_functions: missing_functions?, left_out }))
}

/// Creates what a local Supabase database has beside the schemas of the auth server.
///
/// # Errors
/// The database cannot be used.
pub(crate) async fn prepare(superuser_url: &str, settings: &DatabaseSettings) -> anyhow::Result<()> {
    let superuser = DatabaseSettings { url: Secret::from(superuser_url), ..settings.clone() };
    let pool = database::build_migration_pool(&superuser).await?;
    let outcome = prepare_project_database(&pool).await;
    pool.close().await;
    Ok(outcome?)
}

/// Applies the migrations of these versions to a new database.
///
/// Seed files do not run. Roles exist already.
///
/// # Errors
/// A file cannot be read, or a statement fails; the others were applied.
pub(crate) async fn apply_versions(project: &Project, superuser_url: &str, versions: &[String]) -> anyhow::Result<()> {
    let mut files = SchemaFiles::read(project)?.schema;
    files.migrations.retain(|migration| versions.contains(&migration.version));
    let schema = ProjectSchema { roles: None, seeds: Vec::new(), ..files };
    let superuser = DatabaseSettings { url: Secret::from(superuser_url), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&superuser).await?;
    let outcome = apply_project(&pool, &schema, ApplyOptions::START).await;
    pool.close().await;
    let report = ProjectReport { skipped: outcome?.skipped, ..ProjectReport::default() };
    match report.lines(true).first() {
        Some(line) if report.is_incomplete() => Err(anyhow::Error::msg(line.clone())),
        _ => Ok(()),
    }
}

fn log_other_files(applied: &AppliedFiles) {
    for completed in &applied.completed {
        let (file, statements) = (&completed.path, completed.statements);
        tracing::info!(file, statements, "ran statements of a migration that had not run before");
    }
    for file in &applied.changed_migrations {
        tracing::warn!(
            file,
            "the migration was changed after it ran, and does not run again: write a new migration, or recreate the database with \
             `basalt db reset`"
        );
    }
    for file in &applied.changed_seeds {
        tracing::warn!(file, "the seed file was changed after it ran: `basalt db reset` runs it again");
    }
    for version in &applied.missing_versions {
        tracing::warn!(version, "the database has a migration without a file");
    }
}
