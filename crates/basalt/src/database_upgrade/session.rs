//! A started server of an upgrade, and a superuser's connection to it.

use std::sync::Arc;

use anyhow::Context;
use embedded_postgres::database_copy;
use embedded_postgres::{DumpTools, EmbeddedPostgres};
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use platform::store::acquire_connection;
use sqlx::{Connection, PgConnection};

use crate::database;
use crate::database_source::migrate_embedded;
use crate::database_source::schemas::recreate_database;

/// A server, which ends when this is dropped.
pub(super) struct UpgradeSession {
    server: Arc<EmbeddedPostgres>,
    pub connection: PgConnection,
}

impl UpgradeSession {
    /// Connects to a server.
    pub(super) async fn open(server: EmbeddedPostgres) -> anyhow::Result<Self> {
        let connection = connect(&server).await?;
        Ok(Self { server: Arc::new(server), connection })
    }

    /// Returns the URL of the superuser.
    pub(super) fn url(&self) -> String {
        self.server.url(EmbeddedPostgres::SUPERUSER)
    }

    /// Creates the roles and schemas of this version that do not exist yet.
    pub(super) async fn migrate(&self) -> anyhow::Result<()> {
        migrate_embedded(self.server.address()).await
    }

    /// Replaces the database by an empty one.
    pub(super) async fn recreate_database(&mut self) -> anyhow::Result<()> {
        recreate_database(&self.url()).await?;
        self.connection = connect(&self.server).await?;
        Ok(database_copy::prepare_session(&mut self.connection).await?)
    }

    /// Copies a snapshot of another server to the empty database with PostgreSQL's programs.
    pub(super) async fn copy_by_tools(&self, old: &Self, snapshot: &str, tools: &DumpTools) -> anyhow::Result<()> {
        let (from, to) = (Arc::clone(&old.server), Arc::clone(&self.server));
        let (snapshot, tools) = (snapshot.to_owned(), tools.clone());
        run_blocking(move || from.copy_to(&to, &snapshot, &tools)).await
    }

    /// Ends the connection and stops the server.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        // The server ends connections that do not end themselves.
        drop(self.connection.close().await);
        tokio::task::spawn_blocking(move || self.server.stop()).await.context("stopping the database")
    }
}

async fn connect(server: &EmbeddedPostgres) -> anyhow::Result<PgConnection> {
    let url = server.url(EmbeddedPostgres::SUPERUSER);
    let settings = DatabaseSettings { url: Secret::from(url.as_str()), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&settings).await?;
    let connection = acquire_connection(&pool).await.context("connecting to the database")?.detach();
    pool.close().await;
    Ok(connection)
}

/// Runs work that blocks.
pub(super) async fn run_blocking<T: Send + 'static, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> anyhow::Result<T>
where
    anyhow::Error: From<E>,
    E: Send + 'static,
{
    Ok(tokio::task::spawn_blocking(work).await.context("upgrading the database")??)
}
