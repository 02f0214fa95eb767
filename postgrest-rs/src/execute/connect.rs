//! Connections to the database.

use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};
use tokio_postgres::{AsyncMessage, CancelToken, Client, Connection, Socket};

use super::spool::Diversion;
use super::tls::{Encrypted, Encryption, Opening, StreamOpener, Tls, Verification};

/// Where PostgreSQL's sockets are by default.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The port of PostgreSQL.
const DEFAULT_PORT: u16 = 5432;

/// How long a connection may take to be established, unless the string says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A database, and how it is reached.
#[derive(Debug, Clone)]
pub struct Target {
    config: tokio_postgres::Config,
    tls: Tls,
    encryption: Encryption,
}

/// The messages of a connection, carried while it is polled.
pub enum Carrier {
    /// By TCP.
    Network(Connection<Socket, Encrypted<Socket>>),
    /// By a socket of this machine.
    Local(Connection<UnixStream, Encrypted<UnixStream>>),
}

impl Carrier {
    /// The next notification or notice; `None` at the end.
    pub fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<AsyncMessage, tokio_postgres::Error>>> {
        match self {
            Self::Network(connection) => connection.poll_message(cx),
            Self::Local(connection) => connection.poll_message(cx),
        }
    }
}

/// Settings of a connection string that the driver does not know.
#[derive(Debug, Default, PartialEq, Eq)]
struct TlsSettings {
    mode: Option<String>,
    roots: Option<String>,
}

/// Reads a connection string; what it lacks comes from `PG*` variables, as libpq does.
///
/// # Errors
/// The string is malformed, or the root certificates cannot be read.
pub fn parse(uri: &str) -> Result<Target, String> {
    let (uri, mut settings) = split_tls(uri);
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
        config.application_name(variable("PGAPPNAME").as_deref().unwrap_or("basalt"));
    }
    // A peer that is gone without a word is noticed after two minutes.
    config.keepalives_idle(Duration::from_mins(1)).keepalives_interval(Duration::from_secs(15)).keepalives_retries(4);
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    settings.mode = settings.mode.or_else(|| variable("PGSSLMODE"));
    settings.roots = settings.roots.or_else(|| variable("PGSSLROOTCERT"));
    let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    let (mode, verification) = settings.verification()?;
    let encryption = match mode {
        _ if is_local => Encryption::Off,
        SslMode::Disable => Encryption::Off,
        _ if config.get_ssl_negotiation() == SslNegotiation::Direct => Encryption::Direct,
        SslMode::Prefer => Encryption::Offered,
        _ => Encryption::Required,
    };
    // The opener of streams negotiates TLS: to the driver all streams are alike.
    config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
    let roots = settings.roots.filter(|roots| roots != "system").map(PathBuf::from);
    let tls = Tls::new(verification, roots.as_deref())?;
    Ok(Target { config, tls, encryption })
}

impl TlsSettings {
    /// Whether TLS is used, and what of the certificate is verified.
    fn verification(&self) -> Result<(SslMode, Verification), String> {
        Ok(match self.mode.as_deref() {
            Some("disable") => (SslMode::Disable, Verification::None),
            None | Some("allow" | "prefer") => (SslMode::Prefer, Verification::None),
            // libpq: a root certificate makes it `verify-ca`, those of the system `verify-full`.
            Some("require") => match self.roots.as_deref() {
                None => (SslMode::Require, Verification::None),
                Some("system") => (SslMode::Require, Verification::Name),
                Some(_) => (SslMode::Require, Verification::Issuer),
            },
            Some("verify-ca") => (SslMode::Require, Verification::Issuer),
            Some("verify-full") => (SslMode::Require, Verification::Name),
            Some(other) => return Err(format!("db-uri: sslmode={other} is not known")),
        })
    }

    /// Takes a setting; `false` when it is another one.
    fn take(&mut self, name: &str, value: &str) -> bool {
        let value = Some(value.to_owned());
        match name {
            "sslmode" => self.mode = value,
            "sslrootcert" => self.roots = value,
            _ => return false,
        }
        true
    }
}

/// Takes the settings of TLS out of a connection string, which is an address or a list of `name=value`.
fn split_tls(uri: &str) -> (String, TlsSettings) {
    let mut settings = TlsSettings::default();
    if uri.starts_with("postgres://") || uri.starts_with("postgresql://") {
        let Some((address, query)) = uri.split_once('?') else { return (uri.to_owned(), settings) };
        let is_other = |pair: &&str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            !settings.take(name, &percent_encoding::percent_decode_str(value).decode_utf8_lossy())
        };
        let others: Vec<_> = query.split('&').filter(is_other).collect();
        let separator = if others.is_empty() { "" } else { "?" };
        return (format!("{address}{separator}{}", others.join("&")), settings);
    }
    let is_other = |word: &&str| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        !settings.take(name, value.trim_matches('\''))
    };
    // Blanks between words are kept one by one: quoted values may hold some.
    let others: Vec<_> = uri.split(' ').filter(is_other).collect();
    (others.join(" "), settings)
}

impl Target {
    /// Opens a connection whose messages the caller carries.
    ///
    /// # Errors
    /// The database is not reached, or refuses.
    pub async fn connect(&self) -> Result<(Client, Carrier), Failure> {
        self.connect_with(&Arc::default()).await
    }

    async fn connect_with(&self, diversion: &Arc<Diversion>) -> Result<(Client, Carrier), Failure> {
        if self.config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_))) {
            let (client, connection) = self.config.connect(self.opener(diversion)).await?;
            return Ok((client, Carrier::Network(connection)));
        }
        // The driver opens sockets without a stream of ours.
        let stream = self.open_socket().await?;
        let connecting = self.config.connect_raw(stream, self.opening(diversion));
        let limit = self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        let (client, connection) = tokio::time::timeout(limit, connecting).await.map_err(|_| timed_out())??;
        Ok((client, Carrier::Local(connection)))
    }

    /// Opens a connection; a task carries its messages until the client is dropped.
    ///
    /// # Errors
    /// The database is not reached, or refuses.
    pub async fn open(&self) -> Result<(Client, Arc<Diversion>), Failure> {
        let diversion = Arc::default();
        let (client, mut carrier) = self.connect_with(&diversion).await?;
        tokio::spawn(async move {
            while let Some(message) = poll_fn(|cx| carrier.poll_message(cx)).await {
                if let Err(error) = message {
                    tracing::debug!(%error, "a connection to the database ended");
                    return;
                }
            }
        });
        Ok((client, diversion))
    }

    /// Cancels the statement that a connection runs.
    ///
    /// # Errors
    /// The database is not reached.
    pub async fn cancel(&self, token: CancelToken) -> Result<(), Failure> {
        let diversion = Arc::default();
        if self.config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_))) {
            return Ok(token.cancel_query(self.opener(&diversion)).await?);
        }
        let stream = self.open_socket().await?;
        Ok(token.cancel_query_raw(stream, self.opening(&diversion)).await?)
    }

    /// Connects to the first socket that answers.
    async fn open_socket(&self) -> Result<UnixStream, Failure> {
        let ports = self.config.get_ports();
        let mut failure: Failure = io::Error::new(io::ErrorKind::NotFound, "no host").into();
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let Host::Unix(folder) = host else { continue };
            let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(DEFAULT_PORT);
            match UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error.into(),
            }
        }
        Err(failure)
    }

    fn opener(&self, diversion: &Arc<Diversion>) -> StreamOpener {
        StreamOpener { tls: self.tls.clone(), encryption: self.encryption, diversion: Arc::clone(diversion) }
    }

    fn opening(&self, diversion: &Arc<Diversion>) -> Opening {
        Opening::of_socket(self.opener(diversion))
    }
}

/// Why the database is not reached.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

fn timed_out() -> Failure {
    io::Error::from(io::ErrorKind::TimedOut).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_tls_are_taken_out_of_the_string() {
        let settings = |mode: Option<&str>, roots: Option<&str>| TlsSettings {
            mode: mode.map(str::to_owned),
            roots: roots.map(str::to_owned),
        };
        let cases = [
            ("postgresql://a@b/c", "postgresql://a@b/c", settings(None, None)),
            ("postgres://a@b/c?sslmode=verify-full", "postgres://a@b/c", settings(Some("verify-full"), None)),
            (
                "postgres://b?connect_timeout=3&sslrootcert=%2Fa%20b&sslmode=require",
                "postgres://b?connect_timeout=3",
                settings(Some("require"), Some("/a b")),
            ),
            ("host=b sslmode=disable user=a", "host=b user=a", settings(Some("disable"), None)),
            ("host=b password='a  b'", "host=b password='a  b'", settings(None, None)),
        ];
        for (uri, rest, expected) in cases {
            assert_eq!(split_tls(uri), (rest.to_owned(), expected), "{uri}");
        }
    }

    #[test]
    fn modes_verify_as_libpq_does() {
        let cases = [
            (None, None, Ok((SslMode::Prefer, Verification::None))),
            (Some("require"), None, Ok((SslMode::Require, Verification::None))),
            (Some("require"), Some("/a.pem"), Ok((SslMode::Require, Verification::Issuer))),
            (Some("require"), Some("system"), Ok((SslMode::Require, Verification::Name))),
            (Some("verify-ca"), None, Ok((SslMode::Require, Verification::Issuer))),
            (Some("verify-full"), Some("/a.pem"), Ok((SslMode::Require, Verification::Name))),
            (Some("maybe"), None, Err("db-uri: sslmode=maybe is not known".to_owned())),
        ];
        for (mode, roots, expected) in cases {
            let settings = TlsSettings { mode: mode.map(str::to_owned), roots: roots.map(str::to_owned) };
            assert_eq!(settings.verification(), expected, "{mode:?} {roots:?}");
        }
    }

    #[test]
    fn missing_root_certificates_are_an_error() {
        let error = parse("postgres://a@b/c?sslmode=verify-full&sslrootcert=/does/not/exist.pem").unwrap_err();
        assert!(error.starts_with("sslrootcert /does/not/exist.pem:"), "{error}");
    }
}
