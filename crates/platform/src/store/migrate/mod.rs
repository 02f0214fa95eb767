//! Brings a database to schema `basalt` and to the migrations of a project.
//!
//! Runs at start, before the first request.
//!
//! Its statements are DDL and therefore not named statements; the SQL is in `sql/`.

mod basalt;
mod compatibility;
mod databases;
mod error;
mod project;
mod roles;
mod script;
mod session;
mod words;

pub use basalt::{FILES, checksum, migrate_basalt, run_files};
pub use compatibility::{MigrationFile, MigrationStep, check_files};
pub use databases::{DatabaseAdministrator, DatabaseName};
pub use error::{ErrorContext, MigrateError};
pub use project::{
    AppliedFiles, ApplyOptions, CompletedFile, ExtensionReport, ExtensionState, Installation, OlderMigrations,
    PackageManager, ProjectExtension, ProjectFile, ProjectFileError, ProjectMigration, ProjectSchema, SkippedBefore,
    SkippedStatement, TargetDatabase, apply_project, concatenate_files, inspect_extensions, list_needed_extensions,
    list_pending, prepare_project_database, read_project_versions, read_skipped_statements, record_applied,
};
pub use roles::{ROLES, create_roles};
pub use script::{ScriptStatement, split_script};
pub use session::{ADVISORY_LOCK, lock_migrations, run_script};
pub use words::{CreatedObject, find_created_object};
