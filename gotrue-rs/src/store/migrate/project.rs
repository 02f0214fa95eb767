//! Migrations and seed files of a project, applied to the embedded database as the Supabase CLI does.
//!
//! Each file runs once, in a transaction of its own. `supabase_migrations.schema_migrations` records the migrations,
//! `supabase_migrations.seed_files` the seed files.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use super::script::{ScriptStatement, split_script};
use super::{ErrorContext, MigrateError, is_undefined_table, run_script};
use crate::store::acquire_connection;

/// What the files expect of the database, and the tables that record them.
const PREPARATION: &str = include_str!("../../../../sql/project.sql");
/// The state of the session in which a file begins, whatever earlier files have set.
const SESSION: &str = "RESET ALL; SET statement_timeout = 0; SET client_min_messages = warning; \
                       SET search_path = \"$user\", public, extensions;";

/// A file of SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// The path from the project's root.
    pub path: String,
    /// The contents.
    pub text: String,
}

/// A migration: a file `<version>_<name>.sql`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectMigration {
    /// The digits that order the migrations.
    pub version: String,
    /// The rest of the file's name.
    pub name: String,
    /// The file.
    pub file: ProjectFile,
}

/// The files of a project that define its database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectSchema {
    /// `roles.sql`, which runs before the first migration only.
    pub roles: Option<ProjectFile>,
    /// The migrations in the order of their versions.
    pub migrations: Vec<ProjectMigration>,
    /// The seed files in their order.
    pub seeds: Vec<ProjectFile>,
}

/// What was applied.
#[derive(Debug, Default)]
pub struct AppliedFiles {
    /// The paths of the files that ran.
    pub ran: Vec<String>,
    /// Seed files that were changed after they ran; they do not run again.
    pub changed_seeds: Vec<String>,
    /// Recorded versions without a file.
    pub missing_versions: Vec<String>,
    /// The file that needs what this database does not have; it and the later ones were left out.
    pub unsupported: Option<Box<ProjectFileError>>,
}

/// Why a file of the project was not applied. The files before it were.
#[derive(Debug, thiserror::Error)]
pub enum ProjectFileError {
    /// A statement failed; nothing of its file was applied, except what the file itself committed.
    #[error("{path}:{line}: {message}")]
    Statement {
        /// The file.
        path: String,
        /// The line of the error.
        line: usize,
        /// The database's message.
        message: String,
        /// Whether the statement needs a service or an extension that this database does not have.
        is_unsupported: bool,
    },

    /// A migration is older than one that ran.
    #[error(
        "{path} was not applied, and {latest}, which is later, was: give it a later version, or recreate the database with \
         `basalt db reset`"
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

    /// A step around the files failed.
    #[error(transparent)]
    Database(#[from] MigrateError),
}

/// Applies the files that are not recorded yet.
///
/// Requires a superuser and the roles of [`super::create_roles`].
pub async fn apply_project(pool: &PgPool, schema: &ProjectSchema) -> Result<AppliedFiles, ProjectFileError> {
    let mut connection = acquire_connection(pool).await.during("connecting to the database")?;
    let mut applied = AppliedFiles::default();
    match apply_files(&mut connection, schema, &mut applied).await {
        Err(error @ ProjectFileError::Statement { is_unsupported: true, .. }) => {
            applied.unsupported = Some(Box::new(error));
            Ok(applied)
        }
        outcome => outcome.map(|()| applied),
    }
}

async fn apply_files(
    connection: &mut PgConnection,
    schema: &ProjectSchema,
    applied: &mut AppliedFiles,
) -> Result<(), ProjectFileError> {
    let recorded = read_project_versions(connection).await?;
    let pending = find_pending(&schema.migrations, recorded.as_deref().unwrap_or_default())?;
    applied.missing_versions = find_missing(schema, recorded.as_deref());
    if recorded.is_none() {
        if schema.roles.is_none() && pending.is_empty() && schema.seeds.is_empty() {
            return Ok(());
        }
        run_script(connection, format!("{SESSION} SET client_min_messages = error; BEGIN; {PREPARATION} COMMIT;"))
            .await
            .during("preparing the database for the files of the project")?;
        if let Some(roles) = &schema.roles {
            run_file(connection, roles, Record::None).await?;
            applied.ran.push(roles.path.clone());
        }
    }
    for migration in pending {
        run_file(connection, &migration.file, Record::Migration(migration)).await?;
        applied.ran.push(migration.file.path.clone());
    }
    apply_seeds(connection, &schema.seeds, applied).await
}

async fn apply_seeds(
    connection: &mut PgConnection,
    seeds: &[ProjectFile],
    applied: &mut AppliedFiles,
) -> Result<(), ProjectFileError> {
    let recorded = if seeds.is_empty() { BTreeMap::new() } else { read_seeds(connection).await? };
    for seed in seeds {
        let hash = super::basalt::checksum(&seed.text);
        match recorded.get(&seed.path) {
            None => {
                run_file(connection, seed, Record::Seed(&hash)).await?;
                applied.ran.push(seed.path.clone());
            }
            Some(before) if *before != hash => applied.changed_seeds.push(seed.path.clone()),
            Some(_) => {}
        }
    }
    Ok(())
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
) -> Result<Vec<&'a ProjectMigration>, ProjectFileError> {
    let twice = migrations.windows(2).find(|pair| pair[0].version == pair[1].version);
    if let Some([_, second]) = twice {
        return Err(ProjectFileError::DuplicateVersion { path: second.file.path.clone() });
    }
    let pending: Vec<&ProjectMigration> =
        migrations.iter().filter(|migration| !recorded.contains(&migration.version)).collect();
    let latest = recorded.iter().filter(|version| migrations.iter().any(|it| it.version == **version)).max();
    match (pending.first(), latest) {
        (Some(first), Some(latest)) if first.version < *latest => {
            Err(ProjectFileError::OutOfOrder { path: first.file.path.clone(), latest: latest.clone() })
        }
        _ => Ok(pending),
    }
}

fn find_missing(schema: &ProjectSchema, recorded: Option<&[String]>) -> Vec<String> {
    let is_missing = |version: &&String| schema.migrations.iter().all(|migration| migration.version != **version);
    recorded.unwrap_or_default().iter().filter(is_missing).cloned().collect()
}

/// Returns the recorded versions; `None` if no file of a project ever ran.
pub async fn read_project_versions(connection: &mut PgConnection) -> Result<Option<Vec<String>>, MigrateError> {
    const READ: &str = "SELECT version FROM supabase_migrations.schema_migrations ORDER BY version";
    match sqlx::raw_sql(AssertSqlSafe(READ)).fetch_all(connection).await {
        Ok(rows) => {
            rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map(Some).during("reading versions")
        }
        Err(error) if is_undefined_table(&error) => Ok(None),
        Err(cause) => Err(MigrateError::Database { doing: "reading the versions of the project", cause }),
    }
}

async fn read_seeds(connection: &mut PgConnection) -> Result<BTreeMap<String, String>, MigrateError> {
    const READ: &str = "SELECT path, hash FROM supabase_migrations.seed_files";
    let rows = sqlx::raw_sql(AssertSqlSafe(READ)).fetch_all(connection).await.during("reading the seed files")?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, _>>().during("reading seed files")
}

/// Runs the statements of a file and records it in one transaction.
async fn run_file(
    connection: &mut PgConnection,
    file: &ProjectFile,
    record: Record<'_>,
) -> Result<(), ProjectFileError> {
    let statements = split_script(&file.text);
    run_script(connection, format!("{SESSION} BEGIN;")).await.during("beginning a file of the project")?;
    for statement in &statements {
        if let Err(failure) = run_statement(connection, file, statement).await {
            let _ = run_script(connection, "ROLLBACK".to_owned()).await;
            return Err(failure);
        }
    }
    let recorded = match record {
        Record::None => Ok(()),
        Record::Migration(migration) => record_migration(connection, migration, &statements).await,
        Record::Seed(hash) => record_seed(connection, &file.path, hash).await,
    };
    recorded.during("recording a file of the project")?;
    run_script(connection, "COMMIT".to_owned()).await.map_err(|error| failure(file, statements.last(), &error))
}

async fn run_statement(
    connection: &mut PgConnection,
    file: &ProjectFile,
    statement: &ScriptStatement,
) -> Result<(), ProjectFileError> {
    if is_copy_from_stdin(&statement.sql) {
        let message = "COPY … FROM stdin needs psql, whose data follows the statement: use INSERT".to_owned();
        let (path, line) = (file.path.clone(), statement.first_word_line);
        return Err(ProjectFileError::Statement { path, line, message, is_unsupported: false });
    }
    run_script(connection, statement.sql.clone()).await.map_err(|error| failure(file, Some(statement), &error))
}

/// Builds the error of a statement with the line that the database names, else that of its first word.
fn failure(file: &ProjectFile, statement: Option<&ScriptStatement>, error: &sqlx::Error) -> ProjectFileError {
    let database = error.as_database_error();
    let details = database.and_then(|error| error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>());
    let mut message = database.map_or_else(|| error.to_string(), |error| error.message().to_owned());
    let is_unsupported = database.is_some_and(|error| needs_missing_service(error.code().as_deref(), &message));
    for more in details.iter().flat_map(|details| [details.detail(), details.hint()]).flatten() {
        message.push_str(". ");
        message.push_str(more.trim_end_matches('.'));
    }
    let position = details.and_then(|details| match details.position() {
        Some(sqlx::postgres::PgErrorPosition::Original(position)) => Some(position),
        _ => None,
    });
    let line = statement.map_or(1, |statement| match position {
        Some(position) => statement.line + statement.sql.chars().take(position - 1).filter(|it| *it == '\n').count(),
        None => statement.first_word_line,
    });
    ProjectFileError::Statement { path: file.path.clone(), line, message, is_unsupported }
}

/// Returns whether a statement needs a schema or extension that only a whole Supabase project has.
fn needs_missing_service(code: Option<&str>, message: &str) -> bool {
    const SCHEMAS: [&str; 9] =
        ["storage", "realtime", "cron", "net", "vault", "pgsodium", "graphql", "graphql_public", "supabase_functions"];
    // feature_not_supported, undefined_file, invalid_schema_name, undefined_table, undefined_function, undefined_object
    match code {
        Some("0A000" | "58P01") => message.contains("extension"),
        Some("3F000" | "42P01" | "42883" | "42704") => SCHEMAS.iter().any(|schema| {
            [format!("\"{schema}\""), format!("\"{schema}."), format!(" {schema}.")]
                .iter()
                .any(|it| message.contains(it))
        }),
        _ => false,
    }
}

fn is_copy_from_stdin(sql: &str) -> bool {
    let words: Vec<String> = sql.split_whitespace().map(str::to_ascii_lowercase).collect();
    let is_copy = words.iter().find(|word| !word.starts_with("--")).is_some_and(|word| word == "copy");
    is_copy && words.windows(2).any(|pair| pair[0] == "from" && pair[1] == "stdin")
}

async fn record_migration(
    connection: &mut PgConnection,
    migration: &ProjectMigration,
    statements: &[ScriptStatement],
) -> Result<(), sqlx::Error> {
    const INSERT: &str =
        "INSERT INTO supabase_migrations.schema_migrations (version, statements, name) VALUES ($1, $2, $3)";
    let statements: Vec<&str> = statements.iter().map(|statement| statement.sql.as_str()).collect();
    sqlx::query(INSERT)
        .persistent(false)
        .bind(&migration.version)
        .bind(statements)
        .bind(&migration.name)
        .execute(connection)
        .await
        .map(drop)
}

async fn record_seed(connection: &mut PgConnection, path: &str, hash: &str) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO supabase_migrations.seed_files (path, hash) VALUES ($1, $2)")
        .persistent(false)
        .bind(path)
        .bind(hash)
        .execute(connection)
        .await
        .map(drop)
}
