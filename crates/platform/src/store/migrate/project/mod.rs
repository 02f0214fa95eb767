//! Migrations and seed files of a project, applied to the embedded database as the Supabase CLI does.
//!
//! Each file runs once, in a transaction of its own. `supabase_migrations.schema_migrations` records the migrations,
//! `supabase_migrations.seed_files` the seed files. A statement that fails is left out and recorded in
//! `supabase_migrations.skipped_statements`; the rest of the file and the later files run.

mod extensions;
mod preparation;
mod protected;
mod records;
mod releases;
mod run;
mod schema;
mod services;
mod skipped;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use super::error::{ErrorContext, MigrateError};
use super::script::{ScriptStatement, split_script};
use super::session::{ADVISORY_LOCK, run_script};
use crate::store::acquire_connection;

pub use extensions::{
    ExtensionReport, ExtensionState, Installation, PackageManager, ProjectExtension, inspect_extensions,
    list_needed_extensions,
};
pub use preparation::concatenate_files;
pub use preparation::prepare_project_database;
use records::{read_migrations, read_seeds, record_migration, record_seed, record_skipped, restore_records};
pub use records::{read_project_versions, read_skipped_statements};
use run::{FileRun, Numbered};
use schema::list_files;
pub use schema::{ProjectFile, ProjectMigration, ProjectSchema, TargetDatabase};
pub use skipped::SkippedStatement;

/// The advisory lock of the session that applies files.
const FILES_LOCK: i64 = ADVISORY_LOCK + 1;
/// How often the lock is asked for, and how long after each time: a minute in all.
const LOCK_ATTEMPTS: u32 = 300;
const LOCK_INTERVAL: Duration = Duration::from_millis(200);

/// Whether statements that were skipped before run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkippedBefore {
    /// Those of files that were changed since.
    IfChanged,
    /// All of them.
    Retry,
}

/// Whether migrations that are older than applied ones run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OlderMigrations {
    /// They are refused, as by the Supabase CLI.
    Refuse,
    /// They run before the later ones, as with `--include-all` of the CLI.
    Apply,
}

/// How the files of a project are applied.
#[derive(Debug, Clone, Copy)]
pub struct ApplyOptions {
    /// Whose database it is.
    pub target: TargetDatabase,
    /// Whether statements that were skipped before run again.
    pub before: SkippedBefore,
    /// Whether migrations that are older than applied ones run.
    pub older: OlderMigrations,
    /// Gets the path of each file that has run and was recorded, before the next one runs.
    pub on_applied: fn(&str),
}

impl ApplyOptions {
    /// The options of a start with an embedded database. Files that ran are logged.
    pub const START: Self = Self {
        target: TargetDatabase::Embedded,
        before: SkippedBefore::IfChanged,
        older: OlderMigrations::Refuse,
        on_applied: log_applied_file,
    };
}

fn log_applied_file(file: &str) {
    tracing::info!(file, "applied a file of the project");
}

/// What was applied.
#[derive(Debug, Default)]
pub struct AppliedFiles {
    /// The paths of the files that ran.
    pub ran: Vec<String>,
    /// Migrations that ran before, of which statements ran now that were skipped, corrected or added.
    pub completed: Vec<CompletedFile>,
    /// Migrations that were changed after they ran; they do not run again.
    pub changed_migrations: Vec<String>,
    /// Seed files that were changed after they ran; they do not run again.
    pub changed_seeds: Vec<String>,
    /// Recorded versions without a file.
    pub missing_versions: Vec<String>,
    /// The statements that the database lacks, now and from earlier runs.
    pub skipped: Vec<SkippedStatement>,
}

/// A migration that ran before, with statements that ran now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedFile {
    /// The path.
    pub path: String,
    /// The number of statements that ran.
    pub statements: usize,
}

/// Why the files of the project were not applied. Those before the failure were.
#[derive(Debug, thiserror::Error)]
pub enum ProjectFileError {
    /// A migration is older than one that ran.
    #[error(
        "{path} was not applied, and {latest}, which is later, was: give it a later version, apply it with \
         `basalt db migrate --include-all`, or recreate the database with `basalt db reset`"
    )]
    OutOfOrder {
        /// The file.
        path: String,
        /// The latest recorded version.
        latest: String,
    },

    /// Two migrations have one version.
    #[error("{path} has the version of another migration: give it a version of its own")]
    DuplicateVersion {
        /// The second file.
        path: String,
    },

    /// Another process applies the files.
    #[error(
        "another process has been applying the files of a project to this database for a minute: nothing was changed"
    )]
    Busy,

    /// A step around the files failed, or a statement where none is skipped.
    #[error(transparent)]
    Database(#[from] MigrateError),
}

/// Applies the files that are not recorded yet; one caller at a time.
///
/// An embedded database requires a superuser and [`prepare_project_database`], another one a role that may create schemas.
///
/// # Errors
/// The migrations cannot be ordered, the connection was lost, or a statement failed on a database of an operator.
pub async fn apply_project(
    pool: &PgPool,
    schema: &ProjectSchema,
    options: ApplyOptions,
) -> Result<AppliedFiles, ProjectFileError> {
    let mut connection = acquire_connection(pool).await.during("connecting to the database")?;
    lock_files(&mut connection).await?;
    let applied = apply_files(&mut connection, schema, options).await;
    // The session may be in a transaction that failed; the lock ends with it.
    drop(connection.close().await);
    applied
}

/// Records a migration as applied without running it: the database has already what it makes.
///
/// # Errors
/// The database cannot be used, or another process keeps applying files.
pub async fn record_applied(
    pool: &PgPool,
    migration: &ProjectMigration,
    target: TargetDatabase,
) -> Result<(), ProjectFileError> {
    let mut connection = acquire_connection(pool).await.during("connecting to the database")?;
    lock_files(&mut connection).await?;
    let recorded = async {
        if target == TargetDatabase::External {
            preparation::prepare_records(&mut connection).await?;
        }
        let statements = split_script(&migration.file.text);
        record_migration(&mut connection, migration, &statements).await.during("recording a migration")
    }
    .await;
    drop(connection.close().await);
    Ok(recorded?)
}

/// Returns the migrations that are not recorded in the database.
///
/// # Errors
/// The database cannot be read.
pub async fn list_pending<'a>(
    pool: &PgPool,
    migrations: &'a [ProjectMigration],
) -> Result<Vec<&'a ProjectMigration>, MigrateError> {
    let mut connection = acquire_connection(pool).await.during("connecting to the database")?;
    let recorded = read_project_versions(&mut connection).await?.unwrap_or_default();
    Ok(migrations.iter().filter(|migration| !recorded.contains(&migration.version)).collect())
}

/// Waits until no other process applies files, and takes the lock of the session.
///
/// It asks repeatedly: a session that waits in a statement would keep `CREATE INDEX CONCURRENTLY` of the other one waiting.
async fn lock_files(connection: &mut PgConnection) -> Result<(), ProjectFileError> {
    let sql = format!("SELECT pg_catalog.pg_try_advisory_lock({FILES_LOCK})");
    for _ in 0..LOCK_ATTEMPTS {
        let row = sqlx::raw_sql(AssertSqlSafe(sql.clone())).fetch_one(&mut *connection).await;
        if row.and_then(|row| row.try_get(0)).during("acquiring the lock of the project's files")? {
            return Ok(());
        }
        tokio::time::sleep(LOCK_INTERVAL).await;
    }
    Err(ProjectFileError::Busy)
}

/// What the roles of the APIs have by default is what `sql/project.sql` grants.
const HIDE_NEW_OBJECTS: &str = "
    ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE SELECT, INSERT, UPDATE, DELETE ON TABLES FROM anon, authenticated, service_role;
    ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE EXECUTE ON FUNCTIONS FROM anon, authenticated, service_role;
    ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE USAGE, SELECT ON SEQUENCES FROM anon, authenticated, service_role;";

async fn apply_files(
    connection: &mut PgConnection,
    schema: &ProjectSchema,
    options: ApplyOptions,
) -> Result<AppliedFiles, ProjectFileError> {
    let ApplyOptions { target, older, on_applied, .. } = options;
    if target == TargetDatabase::External {
        preparation::prepare_records(connection).await?;
    }
    let mut applied = AppliedFiles::default();
    let recorded = read_project_versions(connection).await?.unwrap_or_default();
    let pending = find_pending(&schema.migrations, &recorded, older)?;
    applied.missing_versions = find_missing(schema, &recorded);
    let seeds = if schema.seeds.is_empty() { BTreeMap::new() } else { read_seeds(connection).await? };
    let is_new = recorded.is_empty() && seeds.is_empty();
    if schema.hides_new_objects && is_new && target == TargetDatabase::Embedded {
        run_script(connection, HIDE_NEW_OBJECTS.to_owned()).await.during("setting default privileges")?;
    }
    if let Some(roles) = schema.roles.as_ref().filter(|_| is_new) {
        run_file(connection, roles, Record::None, target).await?;
        on_applied(&roles.path);
        applied.ran.push(roles.path.clone());
    }
    complete_migrations(connection, schema, options, &mut applied).await?;
    for &migration in &pending {
        run_file(connection, &migration.file, Record::Migration(migration), target).await?;
        on_applied(&migration.file.path);
        applied.ran.push(migration.file.path.clone());
    }
    if !pending.is_empty() {
        restore_versions(connection, &schema.migrations).await?;
    }
    for seed in &schema.seeds {
        let hash = super::basalt::checksum(&seed.text);
        match seeds.get(&seed.path) {
            None => {
                run_file(connection, seed, Record::Seed(&hash), target).await?;
                on_applied(&seed.path);
                applied.ran.push(seed.path.clone());
            }
            Some(before) if *before != hash => applied.changed_seeds.push(seed.path.clone()),
            Some(_) => {}
        }
    }
    // Statements of a file that is gone are not of this project any more.
    let paths: BTreeSet<&str> = list_files(schema).map(|file| file.path.as_str()).collect();
    applied.skipped = read_skipped_statements(connection).await?;
    applied.skipped.retain(|skipped| paths.contains(skipped.path.as_str()));
    Ok(applied)
}

/// Records the migrations, all of which ran, that a file has removed from the records: they would run again.
async fn restore_versions(connection: &mut PgConnection, migrations: &[ProjectMigration]) -> Result<(), MigrateError> {
    let recorded = read_project_versions(connection).await?.unwrap_or_default();
    for migration in migrations.iter().filter(|migration| !recorded.contains(&migration.version)) {
        let statements = split_script(&migration.file.text);
        record_migration(connection, migration, &statements).await.during("recording a migration again")?;
    }
    Ok(())
}

/// Runs the statements that earlier runs of recorded migrations have skipped, and finds those that were changed otherwise.
///
/// Others may have recorded the migrations of an operator's database, and split them differently: they are not compared.
async fn complete_migrations(
    connection: &mut PgConnection,
    schema: &ProjectSchema,
    options: ApplyOptions,
    applied: &mut AppliedFiles,
) -> Result<(), MigrateError> {
    let ApplyOptions { target, before, .. } = options;
    let skipped = read_skipped_statements(connection).await?;
    if skipped.is_empty() && target == TargetDatabase::External {
        return Ok(());
    }
    let recorded = read_migrations(connection).await?;
    for migration in &schema.migrations {
        let Some(recorded) = recorded.get(&migration.version) else { continue };
        let of_file: Vec<&SkippedStatement> =
            skipped.iter().filter(|statement| statement.path == migration.file.path).collect();
        let statements = split_script(&migration.file.text);
        if of_file.is_empty() {
            let is_changed = recorded.as_ref().is_some_and(|recorded| !has_same_text(&statements, recorded));
            if is_changed && target == TargetDatabase::Embedded {
                applied.changed_migrations.push(migration.file.path.clone());
            }
            continue;
        }
        let recorded = recorded.as_deref().unwrap_or_default();
        let is_changed =
            !statements.iter().map(|statement| statement.sql.as_str()).eq(recorded.iter().map(String::as_str));
        if !is_changed && before == SkippedBefore::IfChanged {
            continue;
        }
        let pending = find_unexecuted(&statements, recorded, &of_file);
        let record = Record::Migration(migration);
        let ran = run_statements(connection, (&migration.file, target), record, &statements, &pending).await?;
        if ran > 0 {
            applied.completed.push(CompletedFile { path: migration.file.path.clone(), statements: ran });
        }
    }
    Ok(())
}

/// Returns whether statements differ from the recorded ones in nothing but space and line breaks.
fn has_same_text(statements: &[ScriptStatement], recorded: &[String]) -> bool {
    let visible = |character: &char| !character.is_whitespace();
    let now = statements.iter().flat_map(|statement| statement.sql.chars()).filter(visible);
    now.eq(recorded.iter().flat_map(|statement| statement.chars()).filter(visible))
}

/// Returns the statements of a file that are not among those that ran, each with its position.
fn find_unexecuted<'a>(
    statements: &'a [ScriptStatement],
    recorded: &[String],
    skipped: &[&SkippedStatement],
) -> Vec<Numbered<'a>> {
    let mut executed: BTreeMap<&str, usize> = BTreeMap::new();
    for statement in recorded {
        *executed.entry(statement).or_default() += 1;
    }
    for statement in skipped {
        if let Some(count) = executed.get_mut(statement.statement.as_str()) {
            *count = count.saturating_sub(1);
        }
    }
    let mut unexecuted = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        match executed.get_mut(statement.sql.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => unexecuted.push((at + 1, statement)),
        }
    }
    unexecuted
}

/// What is recorded after a file ran.
#[derive(Clone, Copy)]
enum Record<'a> {
    None,
    Migration(&'a ProjectMigration),
    Seed(&'a str),
}

/// Returns the migrations that are not recorded, which must follow the recorded ones.
fn find_pending<'a>(
    migrations: &'a [ProjectMigration],
    recorded: &[String],
    older: OlderMigrations,
) -> Result<Vec<&'a ProjectMigration>, ProjectFileError> {
    let twice = migrations.windows(2).find(|pair| pair[0].version == pair[1].version);
    if let Some([_, second]) = twice {
        return Err(ProjectFileError::DuplicateVersion { path: second.file.path.clone() });
    }
    let pending: Vec<&ProjectMigration> =
        migrations.iter().filter(|migration| !recorded.contains(&migration.version)).collect();
    let latest =
        recorded.iter().filter(|version| migrations.iter().any(|migration| migration.version == **version)).max();
    match (pending.first(), latest) {
        (Some(first), Some(latest)) if older == OlderMigrations::Refuse && first.version < *latest => {
            Err(ProjectFileError::OutOfOrder { path: first.file.path.clone(), latest: latest.clone() })
        }
        _ => Ok(pending),
    }
}

fn find_missing(schema: &ProjectSchema, recorded: &[String]) -> Vec<String> {
    let is_missing = |version: &&String| schema.migrations.iter().all(|migration| migration.version != **version);
    recorded.iter().filter(is_missing).cloned().collect()
}

/// Runs all statements of a file and records it.
async fn run_file(
    connection: &mut PgConnection,
    file: &ProjectFile,
    record: Record<'_>,
    target: TargetDatabase,
) -> Result<(), MigrateError> {
    let statements = split_script(&file.text);
    let numbered: Vec<Numbered<'_>> =
        statements.iter().enumerate().map(|(at, statement)| (at + 1, statement)).collect();
    run_statements(connection, (file, target), record, &statements, &numbered).await.map(drop)
}

/// Runs the pending statements of a file and records the file, in one transaction unless a statement ends it; returns how many
/// were not skipped.
async fn run_statements(
    connection: &mut PgConnection,
    (file, target): (&ProjectFile, TargetDatabase),
    record: Record<'_>,
    statements: &[ScriptStatement],
    pending: &[Numbered<'_>],
) -> Result<usize, MigrateError> {
    let skipped = FileRun::begin(connection, file, target).await?.run(pending).await?;
    record_file(connection, file, record, statements, &skipped).await?;
    let Err(error) = run_script(connection, "COMMIT".to_owned()).await else {
        return Ok(pending.len().saturating_sub(skipped.len()));
    };
    // A constraint that is checked at the end of the transaction: nothing of it stays.
    let reason = error.as_database_error().map(|error| error.message().to_owned());
    let Some(reason) = reason else { return Err(error).during("committing a file of the project") };
    if target == TargetDatabase::External {
        let reason = format!("the file could not be committed: {reason}");
        return Err(MigrateError::ProjectStatement { path: file.path.clone(), line: 1, reason });
    }
    let undone = |(ordinal, statement): &Numbered<'_>| SkippedStatement {
        path: file.path.clone(),
        ordinal: *ordinal,
        line: statement.first_word_line,
        statement: statement.sql.clone(),
        reason: format!("undone with its file, which could not be committed: {reason}"),
        remedy: None,
        is_note: false,
    };
    let undone: Vec<SkippedStatement> = pending.iter().map(undone).collect();
    run_script(connection, format!("{} BEGIN", run::SESSION)).await.during("recording a file of the project")?;
    record_file(connection, file, record, statements, &undone).await?;
    run_script(connection, "COMMIT".to_owned()).await.during("recording a file of the project")?;
    Ok(0)
}

async fn record_file(
    connection: &mut PgConnection,
    file: &ProjectFile,
    record: Record<'_>,
    statements: &[ScriptStatement],
    skipped: &[SkippedStatement],
) -> Result<(), MigrateError> {
    restore_records(connection).await.during("recording a file of the project")?;
    let recorded = match record {
        Record::None => Ok(()),
        Record::Migration(migration) => record_migration(connection, migration, statements).await,
        Record::Seed(hash) => record_seed(connection, &file.path, hash).await,
    };
    let recorded = match recorded {
        Ok(()) => record_skipped(connection, &file.path, skipped).await,
        failed => failed,
    };
    recorded.during("recording a file of the project")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_did_not_run_are_found_in_the_changed_file() {
        let skipped = SkippedStatement {
            path: String::new(),
            ordinal: 2,
            line: 1,
            statement: "SELECT wrong".to_owned(),
            reason: String::new(),
            remedy: None,
            is_note: false,
        };
        let recorded = ["SELECT 1", "SELECT wrong", "SELECT 1"].map(str::to_owned);
        let find = |text: &str| -> Vec<(usize, String)> {
            let statements = split_script(text);
            let found = find_unexecuted(&statements, &recorded, &[&skipped]);
            found.into_iter().map(|(at, statement)| (at, statement.sql.clone())).collect()
        };
        assert_eq!(find("SELECT 1; SELECT right; SELECT 1"), [(2, "SELECT right".to_owned())]);
        assert_eq!(find("SELECT 1; SELECT wrong; SELECT 1"), [(2, "SELECT wrong".to_owned())]);
        assert_eq!(find("SELECT 1; SELECT 1; SELECT 1"), [(3, "SELECT 1".to_owned())]);
    }
}
