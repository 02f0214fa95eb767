//! The files of a project that define its database.

use crate::store::migrate::script::ScriptStatement;

/// A file of SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// The path from the project's root.
    pub path: String,
    /// The contents.
    pub text: String,
    /// The lines with bytes that are no text of PostgreSQL, from 1: their statements are skipped.
    pub unreadable_lines: Vec<usize>,
}

impl ProjectFile {
    /// Returns the first line of a statement that could not be read.
    pub(super) fn find_unreadable_line(&self, statement: &ScriptStatement) -> Option<usize> {
        let parts = [Some(&statement.sql), statement.copied_rows.as_ref()];
        let breaks: usize = parts.into_iter().flatten().map(|text| text.matches('\n').count()).sum();
        // The rows begin in the line below the statement.
        let end = statement.line + breaks + usize::from(statement.copied_rows.is_some());
        self.unreadable_lines.iter().copied().find(|line| (statement.line..=end).contains(line))
    }
}

/// A migration: a file `<version>_<name>.sql`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectMigration {
    /// The digits that order the migrations.
    pub version: String,
    /// The rest of the file's name.
    pub name: String,
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
    /// Whether the roles of the APIs get no rights on new tables, functions and sequences of schema `public` by themselves.
    pub hides_new_objects: bool,
}

/// Whose database the files are applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetDatabase {
    /// That of [`prepare_project_database`](super::prepare_project_database): a statement that fails is skipped.
    Embedded,
    /// That of an operator: a statement that fails undoes its file and ends the run.
    External,
}

pub(super) fn list_files(schema: &ProjectSchema) -> impl Iterator<Item = &ProjectFile> {
    schema.roles.iter().chain(schema.migrations.iter().map(|migration| &migration.file)).chain(&schema.seeds)
}
