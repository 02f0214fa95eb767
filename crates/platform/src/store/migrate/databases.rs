//! Creates, renames and drops the databases of a cluster, for the isolated backends of a test server.

use sqlx::{Connection as _, PgPool};

use super::error::{ErrorContext, MigrateError};
use crate::store::open_connection;
use crate::store::quoting::quote_identifier;

/// The name of a database: `a` to `z`, digits and underscores, starting with `a` to `z`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DatabaseName(String);

impl DatabaseName {
    /// Returns the name if it has that form and at most 63 bytes.
    pub fn parse(name: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_start_alphabetic = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
        (is_start_alphabetic && name.len() <= 63 && name.bytes().all(is_allowed)).then(|| Self(name.to_owned()))
    }

    /// Returns this name followed by an underscore and a number; the name is shortened to 40 bytes.
    #[must_use]
    pub fn numbered(&self, number: u64) -> Self {
        Self(format!("{}_{number}", &self.0[..self.0.len().min(40)]))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Creates, renames and drops databases of a cluster.
///
/// Connects to a database that is never copied, renamed or dropped; the role may create databases.
#[derive(Debug, Clone)]
pub struct DatabaseAdministrator(PgPool);

impl DatabaseAdministrator {
    /// Creates an administrator that uses these connections.
    pub fn new(connections: PgPool) -> Self {
        Self(connections)
    }

    /// Returns whether the database exists.
    pub async fn exists(&self, name: &DatabaseName) -> Result<bool, MigrateError> {
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)")
            .bind(name.as_str())
            .fetch_one(&self.0)
            .await
            .during("looking for a database")
    }

    /// Creates a database as a copy of `template`, whose sessions end.
    pub async fn copy(&self, template: &DatabaseName, name: &DatabaseName) -> Result<(), MigrateError> {
        self.end_sessions(template).await?;
        // Copying files takes half the time of writing every page to the log.
        let sql = format!(
            "CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy",
            quote_identifier(name.as_str()),
            quote_identifier(template.as_str())
        );
        self.execute(sql, "copying a database").await
    }

    /// Connects to a database once, so that PostgreSQL stores its catalogs for the start of sessions.
    ///
    /// Copies have that file too, and their first session starts faster. PostgreSQL deletes the file of each
    /// database when it starts.
    pub async fn store_catalogs(&self, name: &DatabaseName) -> Result<(), MigrateError> {
        let options = self.0.connect_options().as_ref().clone().database(name.as_str());
        let doing = "connecting to a database";
        open_connection(&options).await.during(doing)?.close().await.during(doing)
    }

    /// Creates a database without schemas.
    pub async fn create_empty(&self, name: &DatabaseName) -> Result<(), MigrateError> {
        let sql = format!("CREATE DATABASE {} TEMPLATE template0", quote_identifier(name.as_str()));
        self.execute(sql, "creating a database").await
    }

    /// Renames a database, whose sessions end.
    pub async fn rename(&self, from: &DatabaseName, to: &DatabaseName) -> Result<(), MigrateError> {
        self.end_sessions(from).await?;
        let sql =
            format!("ALTER DATABASE {} RENAME TO {}", quote_identifier(from.as_str()), quote_identifier(to.as_str()));
        self.execute(sql, "renaming a database").await
    }

    /// Drops a database if it exists; its sessions end.
    pub async fn drop(&self, name: &DatabaseName) -> Result<(), MigrateError> {
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", quote_identifier(name.as_str()));
        self.execute(sql, "dropping a database").await
    }

    /// Frees the space that dropped databases had in the catalogs of the cluster.
    ///
    /// Their rows stay in memory until then. A role that may not do this changes nothing.
    pub async fn vacuum_catalogs(&self) -> Result<(), MigrateError> {
        let sql = "VACUUM pg_catalog.pg_shdepend, pg_catalog.pg_database".to_owned();
        self.execute(sql, "vacuuming the catalogs of the cluster").await
    }

    /// Closes the connections.
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// Ends the sessions of a database and waits until they have ended, at most five seconds.
    async fn end_sessions(&self, name: &DatabaseName) -> Result<(), MigrateError> {
        // The function returns once the process has ended, or after the given milliseconds.
        sqlx::query(
            "SELECT pg_catalog.pg_terminate_backend(pid, 5000) FROM pg_catalog.pg_stat_activity WHERE datname = $1",
        )
        .bind(name.as_str())
        .execute(&self.0)
        .await
        .map(drop)
        .during("ending the sessions of a database")
    }

    async fn execute(&self, sql: String, doing: &'static str) -> Result<(), MigrateError> {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&self.0).await.map(drop).during(doing)
    }
}
