//! The options of `basalt serve`.

use embedded_postgres::TcpPort;

use crate::database_source::DatabaseOptions;

/// Options of the command line that supplement the configuration.
#[derive(Debug, Clone)]
pub(crate) struct ServeOptions {
    /// Overrides the configured port.
    pub port: Option<u16>,
    /// Discard all data at the end.
    /// The database is always the embedded one, whatever the environment names.
    pub ephemeral: bool,
    /// Database URL; takes precedence over the one of the environment.
    pub database_url: Option<String>,
    /// The TCP port of the embedded database of a test server.
    pub database_port: TcpPort,
    /// Serve for a test run.
    pub test: Option<TestOptions>,
}

/// Options of `basalt serve --test`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestOptions {
    /// Use the keys that the Supabase CLI publishes.
    pub has_demo_keys: bool,
    /// End with success although statements of the project were skipped.
    pub allows_skipped: bool,
}

impl ServeOptions {
    /// Whether every port is a free one: one for requests means it for all, so that several servers of a project can run.
    pub(super) fn takes_free_ports(&self) -> bool {
        self.port == Some(0)
    }

    /// Returns how to find the database.
    pub(super) fn database(&self) -> DatabaseOptions<'_> {
        DatabaseOptions { ephemeral: self.ephemeral, url: self.database_url.as_deref(), port: self.database_port }
    }
}
