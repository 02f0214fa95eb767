//! Connections to the database.

use std::path::Path;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, NoTls};

/// Where PostgreSQL's sockets are by default.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// Reads a connection string; what it lacks comes from `PG*` variables, as libpq does.
///
/// # Errors
/// The string is malformed, or demands TLS.
pub fn parse(uri: &str) -> Result<tokio_postgres::Config, String> {
    let mut config: tokio_postgres::Config = uri.parse().map_err(|error| format!("db-uri: {error}"))?;
    #[expect(clippy::disallowed_methods, reason = "the variables of libpq belong to the connection string")]
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    if config.get_hosts().is_empty() {
        match variable("PGHOST") {
            Some(host) => config.host(host),
            None => match SOCKET_FOLDERS.into_iter().find(|folder| Path::new(folder).exists()) {
                Some(folder) => config.host_path(folder),
                None => config.host("localhost"),
            },
        };
    }
    if config.get_ports().is_empty()
        && let Some(port) = variable("PGPORT").and_then(|port| port.parse().ok())
    {
        config.port(port);
    }
    if config.get_user().is_none()
        && let Some(user) = variable("PGUSER").or_else(|| variable("USER"))
    {
        config.user(user);
    }
    if config.get_password().is_none()
        && let Some(password) = variable("PGPASSWORD")
    {
        config.password(password);
    }
    if config.get_dbname().is_none()
        && let Some(name) = variable("PGDATABASE")
    {
        config.dbname(name);
    }
    if config.get_application_name().is_none() {
        config.application_name("basalt");
    }
    let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    if config.get_ssl_mode() == SslMode::Require && !is_local {
        return Err("db-uri: sslmode=require is not supported yet".to_owned());
    }
    Ok(config)
}

/// Opens a connection; a task carries its messages until the client is dropped.
pub(super) async fn open(config: &tokio_postgres::Config) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the database ended");
        }
    });
    Ok(client)
}
