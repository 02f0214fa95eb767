//! Runs the statements of a file: each in a savepoint of the file's transaction, so that one that fails is skipped alone.

use std::borrow::Cow;

use sqlx::PgConnection;

use super::super::error::{ErrorContext, MigrateError};
use super::super::script::ScriptStatement;
use super::super::session::run_script;
use super::super::words::{ExtensionAction, TransactionCommand, find_extension};
use super::extensions::{self, ServerPrograms};
use super::protected::{ProtectedStatement, creates_supabase_role, find_protected, prevents_start};
use super::releases::{self, Replacement};
use super::schema::{ProjectFile, TargetDatabase};
use super::services;
use super::skipped::SkippedStatement;

/// The state of the session in which a file begins, whatever earlier files have set.
///
/// `RESET ROLE` would choose the role that a setting of the user names.
pub(super) const SESSION: &str = "SET SESSION AUTHORIZATION DEFAULT; SET ROLE NONE; RESET ALL; SET statement_timeout = 0; \
     SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET client_min_messages = warning; \
     SET search_path = \"$user\", public, extensions;";
/// Begins a transaction whose statements run in savepoints, whatever the file has set for its session.
const BEGIN: &str = "BEGIN READ WRITE; SAVEPOINT basalt_statement";
/// Lets statements delete rows of buckets and objects while there is no object: no file can stay without its row.
const ALLOW_DELETION_WITHOUT_OBJECTS: &str = "DO $$ BEGIN
    IF pg_catalog.to_regclass('storage.objects') IS NOT NULL THEN
        EXECUTE 'SELECT pg_catalog.set_config(''storage.allow_delete_query'', ''true'', false)
            WHERE NOT EXISTS (SELECT FROM storage.objects)';
    END IF;
END $$";
/// Keeps what the last statement did.
const KEEP: &str = "RELEASE SAVEPOINT basalt_statement; SAVEPOINT basalt_statement";
/// Undoes what the last statement did.
const UNDO: &str = "ROLLBACK TO SAVEPOINT basalt_statement";

/// A statement that does not run in a transaction block, or a command of a procedure that ends one.
const NOT_IN_TRANSACTION: [&str; 2] = ["25001", "2D000"];
/// A value of an enumeration is used in the transaction that added it.
const NEW_ENUM_VALUE: &str = "55P04";
/// A role or another object exists.
const DUPLICATE_OBJECT: &str = "42710";
/// A comment without an end, and what to do about one that another comment in it has opened again.
const UNTERMINATED_COMMENT: &str = "unterminated /* comment";
const NESTED_COMMENT: &str =
    "end the comment: comments nest, so that each /* in it, such as that of a path, needs a */ of its own";
/// `ALTER TABLE` while triggers of the transaction are pending.
const OBJECT_IN_USE: &str = "55006";

/// A run of the statements of one file.
pub(super) struct FileRun<'a> {
    connection: &'a mut PgConnection,
    file: &'a ProjectFile,
    target: TargetDatabase,
    server: ServerPrograms,
    skipped: Vec<SkippedStatement>,
}

/// The position of a statement in its file, from 1, and the statement.
pub(super) type Numbered<'a> = (usize, &'a ScriptStatement);

impl<'a> FileRun<'a> {
    /// Begins the transaction of the file.
    pub(super) async fn begin(
        connection: &'a mut PgConnection,
        file: &'a ProjectFile,
        target: TargetDatabase,
    ) -> Result<FileRun<'a>, MigrateError> {
        let doing = "beginning a file of the project";
        run_script(connection, SESSION.to_owned()).await.during(doing)?;
        if target == TargetDatabase::Embedded {
            run_script(connection, ALLOW_DELETION_WITHOUT_OBJECTS.to_owned()).await.during(doing)?;
        }
        run_script(connection, BEGIN.to_owned()).await.during(doing)?;
        let server = ServerPrograms::read(connection).await.during(doing)?;
        Ok(Self { connection, file, target, server, skipped: Vec::new() })
    }

    /// Runs the statements; returns those that failed.
    ///
    /// The transaction is open afterwards, with the rights of the superuser.
    ///
    /// # Errors
    /// The connection was lost, or a statement failed on a database of an operator.
    pub(super) async fn run(mut self, statements: &[Numbered<'_>]) -> Result<Vec<SkippedStatement>, MigrateError> {
        for numbered in statements {
            self.run_one(*numbered).await?;
        }
        self.execute("SET SESSION AUTHORIZATION DEFAULT; SET ROLE NONE").await?;
        Ok(self.skipped)
    }

    async fn run_one(&mut self, numbered: Numbered<'_>) -> Result<(), MigrateError> {
        let statement = numbered.1;
        if let Some(line) = self.file.find_unreadable_line(statement) {
            let reason = format!("line {line} has bytes that are not UTF-8");
            return self.skip(numbered, line, reason, Some("save the file as UTF-8".to_owned()), false);
        }
        if statement.is_psql_command() {
            let reason = "only psql reads this command, which runs another file or statement".to_owned();
            return self.skip(numbered, statement.first_word_line, reason, None, false);
        }
        match TransactionCommand::find(&statement.sql) {
            Some(TransactionCommand::Begin) => Ok(()),
            Some(TransactionCommand::Commit) => self.end_transaction(numbered, "COMMIT").await,
            Some(TransactionCommand::Rollback) => self.end_transaction(numbered, "ROLLBACK").await,
            Some(TransactionCommand::Savepoint) => {
                // Its savepoint must not lie in ours, which is released after the next statement.
                let sql = format!("RELEASE SAVEPOINT basalt_statement; {}; SAVEPOINT basalt_statement", statement.sql);
                self.execute(&sql).await
            }
            Some(TransactionCommand::EndSavepoint) => match self.send(statement).await {
                Ok(()) => self.execute("SAVEPOINT basalt_statement").await,
                Err(error) => self.undo_and_skip(numbered, &error).await,
            },
            Some(TransactionCommand::Prepare) => {
                let reason = "a prepared transaction would end that of the file".to_owned();
                self.skip(numbered, statement.first_word_line, reason, None, false)
            }
            None => self.run_in_savepoint(numbered).await,
        }
    }

    async fn run_in_savepoint(&mut self, numbered: Numbered<'_>) -> Result<(), MigrateError> {
        let statement = numbered.1;
        if self.target == TargetDatabase::Embedded
            && let Some(protected) = find_protected(&statement.sql)
            && let Some(reason) = self.describe_protected(protected).await?
        {
            return self.skip(numbered, statement.first_word_line, reason, None, true);
        }
        if self.target == TargetDatabase::Embedded
            && let Some((reason, is_note)) = services::find_harm(&statement.sql)
        {
            return self.skip(numbered, statement.first_word_line, reason, None, is_note);
        }
        let extension = find_extension(&statement.sql);
        if self.target == TargetDatabase::Embedded
            && let Some((action, name)) = &extension
            && extensions::find_provided(name).is_some()
        {
            return self.run_for_provided(statement, *action, name).await;
        }
        let Err(error) = self.send(statement).await else { return self.execute(KEEP).await };
        let code = error.as_database_error().and_then(|error| error.code().map(Cow::into_owned));
        match code.as_deref() {
            Some(code) if NOT_IN_TRANSACTION.contains(&code) => {
                self.execute(UNDO).await?;
                self.end_transaction(numbered, "COMMIT").await?;
                self.execute("COMMIT").await?;
                let outcome = self.send(statement).await;
                if let Err(error) = outcome {
                    self.fail(numbered, &error).await?;
                }
                self.execute(BEGIN).await
            }
            Some(NEW_ENUM_VALUE | OBJECT_IN_USE) => {
                self.execute(UNDO).await?;
                self.end_transaction(numbered, "COMMIT").await?;
                match self.send(statement).await {
                    Ok(()) => self.execute(KEEP).await,
                    Err(error) => self.undo_and_skip(numbered, &error).await,
                }
            }
            _ => self.replace_or_skip(numbered, &error).await,
        }
    }

    /// Runs what replaces a statement of another release, or skips it.
    async fn replace_or_skip(&mut self, numbered: Numbered<'_>, error: &sqlx::Error) -> Result<(), MigrateError> {
        let statement = numbered.1;
        let replacement = (self.target == TargetDatabase::Embedded)
            .then(|| error.as_database_error())
            .flatten()
            .and_then(|error| releases::find_replacement(&statement.sql, error, self.server.major()));
        let Some(replacement) = replacement else { return self.undo_and_skip(numbered, error).await };
        self.execute(UNDO).await?;
        let sql = match &replacement {
            Replacement::Statement(sql) => Some(sql),
            Replacement::ExtensionVersion { statement, .. } => statement.as_ref(),
            Replacement::Nothing { .. } => None,
        };
        if let Some(sql) = sql
            && let Err(error) = run_script(self.connection, sql.clone()).await
        {
            return self.undo_and_skip(numbered, &error).await;
        }
        let reason = match replacement {
            Replacement::Statement(_) => None,
            Replacement::Nothing { reason } => Some(reason),
            Replacement::ExtensionVersion { extension, wanted, .. } => {
                let there = self.find_extension_version(&extension).await?;
                // The version that is asked for is there: the statement failed for another reason.
                if there.as_ref() == Some(&wanted) {
                    return self.undo_and_skip(numbered, error).await;
                }
                there.map(|there| format!("version {wanted} of {extension} was asked for, {there} is installed"))
            }
        };
        if let Some(reason) = reason {
            self.skip(numbered, statement.first_word_line, reason, None, true)?;
        }
        self.execute(KEEP).await
    }

    /// Returns why a statement does not run that the server depends on; `None` if it can run.
    async fn describe_protected(&mut self, protected: ProtectedStatement) -> Result<Option<String>, MigrateError> {
        let setting = match protected {
            ProtectedStatement::SystemSetting(setting) => setting,
            ProtectedStatement::SessionSetting(setting) => {
                return Ok(Some(format!(
                    "with {setting} of a file, sessions of the server might not begin or not work"
                )));
            }
            ProtectedStatement::ConnectionLimit => {
                return Ok(Some("the server needs its connections to the database".to_owned()));
            }
            ProtectedStatement::ServerRole(role) => {
                return Ok(Some(format!("Basalt signs in as {role}, whose password and rights stay")));
            }
        };
        let context: Option<String> =
            sqlx::query_scalar("SELECT context FROM pg_catalog.pg_settings WHERE pg_catalog.lower(name) = $1")
                .persistent(false)
                .bind(&setting)
                .fetch_optional(&mut *self.connection)
                .await
                .during("looking for a setting")?;
        let is_refused = context.is_some_and(|context| prevents_start(&setting, &context));
        Ok(is_refused.then(|| format!("with another {setting} PostgreSQL might not start or accept no connection")))
    }

    /// Returns the installed version of an extension.
    async fn find_extension_version(&mut self, extension: &str) -> Result<Option<String>, MigrateError> {
        sqlx::query_scalar(
            "SELECT extversion FROM pg_catalog.pg_extension WHERE extname = $1 AND extversion <> 'basalt'",
        )
        .persistent(false)
        .bind(extension)
        .fetch_optional(&mut *self.connection)
        .await
        .during("looking for an extension")
    }

    /// Returns whether PostgreSQL has the files of an extension.
    async fn is_extension_available(&mut self, extension: &str) -> Result<bool, MigrateError> {
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_catalog.pg_available_extensions WHERE name = $1)")
            .persistent(false)
            .bind(extension)
            .fetch_one(&mut *self.connection)
            .await
            .during("looking for an extension")
    }

    /// Installs an extension whose SQL exists without it, if PostgreSQL has it; otherwise it is only listed as installed.
    async fn run_for_provided(
        &mut self,
        statement: &ScriptStatement,
        action: ExtensionAction,
        name: &str,
    ) -> Result<(), MigrateError> {
        let schema = match name {
            "pg_cron" => Some("cron"),
            "pg_net" => Some("net"),
            "supabase_vault" => Some("vault"),
            "pgmq" => Some("pgmq"),
            _ => None,
        };
        if !self.is_extension_available(name).await? {
            return self.list_provided(action, name).await;
        }
        let is_installed = self.find_extension_version(name).await?.is_some();
        let replaced = match schema {
            Some(schema) if action == ExtensionAction::Create && !is_installed => {
                let unlisted = extensions::format_unlisting(name);
                run_script(self.connection, format!("{unlisted}; DROP SCHEMA IF EXISTS {schema} CASCADE")).await
            }
            _ => Ok(()),
        };
        let installed = match replaced {
            Ok(()) => self.send(statement).await,
            Err(error) => Err(error),
        };
        if installed.is_ok() {
            return self.execute(KEEP).await;
        }
        // It may need a library that the server has not loaded at its start.
        self.execute(UNDO).await?;
        self.list_provided(action, name).await
    }

    /// Lists an extension that this server provides in `pg_extension`, which conditions of projects read, or removes it.
    ///
    /// The files of a project may have taken a role without this right: then nothing is changed, as by the extension itself.
    async fn list_provided(&mut self, action: ExtensionAction, name: &str) -> Result<(), MigrateError> {
        let sql = match action {
            ExtensionAction::Create => extensions::format_listing(name),
            ExtensionAction::Drop => extensions::format_unlisting(name),
            ExtensionAction::Change => return Ok(()),
        };
        let outcome = run_script(self.connection, sql).await;
        self.execute(if outcome.is_ok() { KEEP } else { UNDO }).await
    }

    /// Ends the transaction as a statement of the file wants it, and begins the next one.
    async fn end_transaction(&mut self, numbered: Numbered<'_>, command: &str) -> Result<(), MigrateError> {
        if let Err(error) = run_script(self.connection, command.to_owned()).await {
            self.fail(numbered, &error).await?;
        }
        self.execute(BEGIN).await
    }

    async fn undo_and_skip(&mut self, numbered: Numbered<'_>, error: &sqlx::Error) -> Result<(), MigrateError> {
        // A transaction that failed answers no query; without a connection, the failure is what is reported.
        if error.as_database_error().is_some() {
            self.execute(UNDO).await?;
        }
        self.fail(numbered, error).await
    }

    async fn send(&mut self, statement: &ScriptStatement) -> Result<(), sqlx::Error> {
        let Some(rows) = &statement.copied_rows else {
            return run_script(self.connection, statement.sql.clone()).await;
        };
        let mut copy = self.connection.copy_in_raw(&statement.sql).await?;
        match copy.send(rows.as_bytes()).await {
            Ok(_) => copy.finish().await.map(drop),
            Err(error) => {
                let _ = copy.abort("the rows could not be sent").await;
                Err(error)
            }
        }
    }

    async fn execute(&mut self, sql: &str) -> Result<(), MigrateError> {
        run_script(self.connection, sql.to_owned()).await.during("running a file of the project")
    }

    /// Adds a statement to the skipped ones, with the line that the database names, else that of its first word.
    ///
    /// What the statement did is undone already.
    ///
    /// # Errors
    /// The connection was lost: the other statements cannot run either. Or nothing is skipped in this database.
    async fn fail(&mut self, numbered: Numbered<'_>, error: &sqlx::Error) -> Result<(), MigrateError> {
        let doing = "running a file of the project";
        let statement = numbered.1;
        let Some(database) = error.as_database_error() else {
            let cause = sqlx::Error::Protocol(format!("{}:{}: {error}", self.file.path, statement.first_word_line));
            return Err(MigrateError::Database { doing, cause });
        };
        let details = database.try_downcast_ref::<sqlx::postgres::PgDatabaseError>();
        let mut reason = database.message().to_owned();
        if reason.starts_with(UNTERMINATED_COMMENT) {
            // PostgreSQL quotes the rest of the file.
            reason.truncate(UNTERMINATED_COMMENT.len());
        }
        let about = find_extension(&statement.sql);
        let is_of_tool = about.as_ref().is_some_and(|(_, name)| extensions::is_tool(name));
        let extension = about.filter(|(action, _)| *action == ExtensionAction::Create).map(|(_, name)| name);
        // The details of a missing extension are the path of its file.
        let details_shown = details.filter(|_| extension.is_none());
        for more in details_shown.iter().flat_map(|details| [details.detail(), details.hint()]).flatten() {
            reason.truncate(reason.trim_end_matches('.').len());
            reason.push_str(". ");
            reason.push_str(more.trim_end_matches('.'));
        }
        let position = details.and_then(|details| match details.position() {
            Some(sqlx::postgres::PgErrorPosition::Original(position)) => Some(position),
            _ => None,
        });
        let line = match position {
            Some(position) => {
                let before = statement.sql.chars().take(position.saturating_sub(1));
                statement.line + before.filter(|character| *character == '\n').count()
            }
            None => statement.first_word_line,
        };
        let needed = extension.clone().or_else(|| extensions::find_needed_extension(&reason).map(str::to_owned));
        let remedy = match needed {
            Some(name) if self.target == TargetDatabase::Embedded && self.is_extension_available(&name).await? => {
                self.describe_available(&name, extension.is_some(), &reason).await?
            }
            Some(name) => Some(extensions::describe_remedy(&name, self.server)),
            None if database.message().starts_with(UNTERMINATED_COMMENT) => Some(NESTED_COMMENT.to_owned()),
            None => releases::find_first_release(&statement.sql, database.message())
                .filter(|release| *release > self.server.major())
                .map(releases::describe_remedy),
        };
        let is_there = database.code().as_deref() == Some(DUPLICATE_OBJECT);
        let is_note = is_of_tool
            || database.code().is_some_and(|code| {
                releases::is_of_server(&statement.sql, &code)
                    || services::concerns_other_release(&statement.sql, &code, database.message())
            })
            || is_there && creates_supabase_role(&statement.sql)
            || releases::changes_only_tools(&statement.sql, database.message());
        self.skip(numbered, line, reason, remedy, is_note)
    }

    /// Returns what makes a statement run that failed although PostgreSQL has its extension.
    async fn describe_available(
        &mut self,
        extension: &str,
        is_create: bool,
        reason: &str,
    ) -> Result<Option<String>, MigrateError> {
        if is_create {
            let schema = reason.strip_prefix("schema \"").and_then(|rest| rest.strip_suffix("\" does not exist"));
            return Ok(schema.map(|schema| format!("create the schema in a statement before: CREATE SCHEMA {schema}")));
        }
        let is_installed = self.find_extension_version(extension).await?.is_some();
        Ok((!is_installed).then(|| format!("create the extension in a statement before: CREATE EXTENSION {extension}")))
    }

    /// # Errors
    /// The database is that of an operator: nothing is left out of it.
    fn skip(
        &mut self,
        (ordinal, statement): Numbered<'_>,
        line: usize,
        reason: String,
        remedy: Option<String>,
        is_note: bool,
    ) -> Result<(), MigrateError> {
        let path = self.file.path.clone();
        if self.target == TargetDatabase::External {
            return Err(MigrateError::ProjectStatement { path, line, reason });
        }
        let statement = statement.sql.clone();
        self.skipped.push(SkippedStatement { path, ordinal, line, statement, reason, remedy, is_note });
        Ok(())
    }
}
