//! Connections to the database.

use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::net::UnixStream;
use tokio_postgres::config::{Host, SslMode, SslNegotiation, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
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
    /// What all servers have in common; where there are sockets, it names them.
    config: tokio_postgres::Config,
    /// Each server that is reached by TCP.
    servers: Vec<tokio_postgres::Config>,
    /// Which server is wanted, where the string says it.
    session: Option<WantedSession>,
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

/// Which of several servers is wanted: libpq's `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WantedSession {
    Any,
    ReadWrite,
    ReadOnly,
    /// One that is read only, or any where there is none.
    PreferReadOnly,
}

impl WantedSession {
    fn parse(value: &str) -> Result<Self, String> {
        match value {
            "any" => Ok(Self::Any),
            "read-write" | "primary" => Ok(Self::ReadWrite),
            "read-only" | "standby" => Ok(Self::ReadOnly),
            "prefer-standby" => Ok(Self::PreferReadOnly),
            other => Err(format!("db-uri: target_session_attrs={other} is not known")),
        }
    }
}

/// Settings of libpq in a connection string that the driver does not know, or by another name.
#[derive(Debug, Default, PartialEq, Eq)]
struct LibpqSettings {
    /// `sslmode`.
    mode: Option<String>,
    /// `sslrootcert`.
    roots: Option<String>,
    /// `target_session_attrs`.
    session: Option<String>,
    /// `keepalives_idle` in seconds, `keepalives_interval` in seconds and `keepalives_count`.
    keepalives: [Option<String>; 3],
}

/// Reads a connection string; what it lacks comes from `PG*` variables, as libpq does.
///
/// # Errors
/// The string is malformed, or the root certificates cannot be read.
pub fn parse(uri: &str) -> Result<Target, String> {
    let (uri, mut settings) = split_libpq(uri);
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
    let [idle, interval, count] = settings.keepalives()?;
    config
        .keepalives_idle(Duration::from_secs(idle.into()))
        .keepalives_interval(Duration::from_secs(interval.into()))
        .keepalives_retries(count);
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
    let session = settings.session.as_deref().map(WantedSession::parse).transpose()?;
    let servers = split_servers(&config)?;
    Ok(Target { config, servers, session, tls, encryption })
}

/// Returns a connection string that wants the primary where the given one names several servers and not which of them.
///
/// # Errors
/// As [`parse`].
pub fn prefer_primary(uri: &str) -> Result<String, String> {
    let target = parse(uri)?;
    if target.session.is_some() || target.servers.len() < 2 {
        return Ok(uri.to_owned());
    }
    let separator = match (is_address(uri), uri.contains('?')) {
        (true, true) => '&',
        (true, false) => '?',
        (false, _) => ' ',
    };
    Ok(format!("{uri}{separator}target_session_attrs=read-write"))
}

/// Whether a connection string is an address; else it is a list of `name=value`.
fn is_address(uri: &str) -> bool {
    uri.starts_with("postgres://") || uri.starts_with("postgresql://")
}

/// Settings for each server that is reached by TCP, alike but for its address.
fn split_servers(config: &tokio_postgres::Config) -> Result<Vec<tokio_postgres::Config>, String> {
    let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    if ports.len() > 1 && ports.len() != hosts.len().max(addresses.len()) {
        return Err("db-uri: there must be one port, or one for each host".to_owned());
    }
    let mut servers = Vec::new();
    for index in 0..hosts.len().max(addresses.len()) {
        let mut server = tokio_postgres::Config::new();
        match hosts.get(index) {
            Some(Host::Tcp(name)) => {
                server.host(name);
            }
            Some(Host::Unix(_)) => continue,
            None => {}
        }
        if let Some(address) = addresses.get(index) {
            server.hostaddr(*address);
        }
        server.port(ports.get(index).or_else(|| ports.first()).copied().unwrap_or(DEFAULT_PORT));
        if let Some(user) = config.get_user() {
            server.user(user);
        }
        if let Some(password) = config.get_password() {
            server.password(password);
        }
        if let Some(name) = config.get_dbname() {
            server.dbname(name);
        }
        if let Some(options) = config.get_options() {
            server.options(options);
        }
        if let Some(name) = config.get_application_name() {
            server.application_name(name);
        }
        if let Some(limit) = config.get_connect_timeout() {
            server.connect_timeout(*limit);
        }
        if let Some(limit) = config.get_tcp_user_timeout() {
            server.tcp_user_timeout(*limit);
        }
        server.keepalives(config.get_keepalives()).keepalives_idle(config.get_keepalives_idle());
        if let Some(interval) = config.get_keepalives_interval() {
            server.keepalives_interval(interval);
        }
        if let Some(count) = config.get_keepalives_retries() {
            server.keepalives_retries(count);
        }
        server.ssl_mode(config.get_ssl_mode()).ssl_negotiation(config.get_ssl_negotiation());
        server.channel_binding(config.get_channel_binding());
        servers.push(server);
    }
    Ok(servers)
}

impl LibpqSettings {
    /// Seconds until a connection is tested, seconds between tests, and their number. By default a peer that is gone without a word
    /// is noticed after two minutes.
    fn keepalives(&self) -> Result<[u32; 3], String> {
        let mut values = [60, 15, 4];
        let names = ["keepalives_idle", "keepalives_interval", "keepalives_count"];
        for ((value, given), name) in values.iter_mut().zip(&self.keepalives).zip(names) {
            match given.as_deref().map(str::parse) {
                // 0 stands for the usual value, as in libpq.
                None | Some(Ok(0)) => {}
                Some(Ok(given)) => *value = given,
                Some(Err(_)) => return Err(format!("db-uri: {name} must be a number")),
            }
        }
        Ok(values)
    }

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
            "target_session_attrs" => self.session = value,
            "keepalives_idle" => self.keepalives[0] = value,
            "keepalives_interval" => self.keepalives[1] = value,
            // The second one is the driver's name.
            "keepalives_count" | "keepalives_retries" => self.keepalives[2] = value,
            _ => return false,
        }
        true
    }
}

/// Takes these settings out of a connection string, which is an address or a list of `name=value`.
fn split_libpq(uri: &str) -> (String, LibpqSettings) {
    let mut settings = LibpqSettings::default();
    if is_address(uri) {
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
    /// Describes where the database is, for people: hosts with ports, or sockets.
    pub fn describe_place(&self) -> String {
        let ports = self.config.get_ports();
        let port_of = |index: usize| ports.get(index).or_else(|| ports.first()).copied().unwrap_or(DEFAULT_PORT);
        let hosts = self.config.get_hosts().iter().enumerate().map(|(index, host)| match host {
            Host::Tcp(name) => format!("{name} port {}", port_of(index)),
            Host::Unix(folder) => format!("the socket {}", find_socket(folder, port_of(index)).display()),
        });
        hosts.collect::<Vec<_>>().join(", ")
    }

    /// Opens a connection whose messages the caller carries.
    ///
    /// # Errors
    /// The database is not reached, or refuses.
    pub async fn connect(&self) -> Result<(Client, Carrier), Failure> {
        let (client, carrier, _) = Box::pin(self.establish()).await?;
        Ok((client, carrier))
    }

    /// A large future, which requests need not carry.
    async fn establish(&self) -> Result<Established, Failure> {
        if !self.servers.is_empty() {
            return match self.session.unwrap_or(WantedSession::Any) {
                WantedSession::Any => self.establish_first().await,
                WantedSession::ReadWrite => self.establish_one_of(TargetSessionAttrs::ReadWrite).await,
                WantedSession::ReadOnly => self.establish_one_of(TargetSessionAttrs::ReadOnly).await,
                WantedSession::PreferReadOnly => match self.establish_one_of(TargetSessionAttrs::ReadOnly).await {
                    Ok(established) => Ok(established),
                    Err(_) => self.establish_first().await,
                },
            };
        }
        // The driver opens sockets without a stream of ours.
        let diversion = Arc::default();
        let stream = self.open_socket().await?;
        let connecting = self.config.connect_raw(stream, self.opening(&diversion));
        let (client, connection) = self.limit(connecting).await?;
        Ok((client, Carrier::Local(connection), diversion))
    }

    /// Tries the servers in their order.
    async fn establish_first(&self) -> Result<Established, Failure> {
        let mut failure = no_host();
        for server in &self.servers {
            match self.establish_on(server.clone()).await {
                Ok(established) => return Ok(established),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Tries all servers at once for one of this kind: one that stands still does not keep the others waiting.
    async fn establish_one_of(&self, wanted: TargetSessionAttrs) -> Result<Established, Failure> {
        let attempts = self.servers.iter().map(|server| {
            let mut server = server.clone();
            server.target_session_attrs(wanted);
            self.establish_on(server)
        });
        let mut attempts: FuturesUnordered<_> = attempts.collect();
        let mut failure = no_host();
        while let Some(attempt) = attempts.next().await {
            match attempt {
                Ok(established) => return Ok(established),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn establish_on(&self, server: tokio_postgres::Config) -> Result<Established, Failure> {
        let diversion = Arc::default();
        let (client, connection) = self.limit(server.connect(self.opener(&diversion))).await?;
        Ok((client, Carrier::Network(connection), diversion))
    }

    /// Waits for a connection as long as the string allows, from the first packet to the last of the start.
    async fn limit<T>(&self, connecting: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Failure> {
        let limit = self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        Ok(tokio::time::timeout(limit, connecting).await.map_err(|_| timed_out())??)
    }

    /// Opens a connection; a task carries its messages until the client is dropped.
    ///
    /// # Errors
    /// The database is not reached, or refuses.
    pub async fn open(&self) -> Result<(Client, Arc<Diversion>), Failure> {
        let (client, mut carrier, diversion) = Box::pin(self.establish()).await?;
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
        if !self.servers.is_empty() {
            return Ok(token.cancel_query(self.opener(&diversion)).await?);
        }
        let stream = self.open_socket().await?;
        Ok(token.cancel_query_raw(stream, self.opening(&diversion)).await?)
    }

    /// Connects to the first socket that answers.
    async fn open_socket(&self) -> Result<UnixStream, Failure> {
        let ports = self.config.get_ports();
        let mut failure = no_host();
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let Host::Unix(folder) = host else { continue };
            let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(DEFAULT_PORT);
            match UnixStream::connect(find_socket(folder, port)).await {
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

/// A connection, the messages that its owner carries, and where its large results go.
type Established = (Client, Carrier, Arc<Diversion>);

/// The SQLSTATE by which the database refused a connection; `None` when it was not reached.
pub fn database_code<'a>(failure: &'a (dyn std::error::Error + Send + Sync + 'static)) -> Option<&'a SqlState> {
    failure.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::code)
}

fn find_socket(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}

fn no_host() -> Failure {
    io::Error::new(io::ErrorKind::NotFound, "no host").into()
}

fn timed_out() -> Failure {
    io::Error::from(io::ErrorKind::TimedOut).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_tls_are_taken_out_of_the_string() {
        let settings = |mode: Option<&str>, roots: Option<&str>| LibpqSettings {
            mode: mode.map(str::to_owned),
            roots: roots.map(str::to_owned),
            ..LibpqSettings::default()
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
            assert_eq!(split_libpq(uri), (rest.to_owned(), expected), "{uri}");
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
            let (mode, roots) = (mode.map(str::to_owned), roots.map(str::to_owned));
            let settings = LibpqSettings { mode, roots, ..LibpqSettings::default() };
            assert_eq!(settings.verification(), expected, "{settings:?}");
        }
    }

    #[test]
    fn servers_of_a_cluster_are_told_apart() {
        let uri =
            "postgresql://a:b@db1:5433,db2:5434/c?target_session_attrs=primary&keepalives_idle=7&keepalives_count=2";
        let target = parse(uri).unwrap();
        assert_eq!(target.session, Some(WantedSession::ReadWrite));
        let servers: Vec<_> = target.servers.iter().map(|server| (server.get_hosts(), server.get_ports())).collect();
        let host = |name: &str| [Host::Tcp(name.to_owned())];
        assert_eq!(servers, [(&host("db1")[..], &[5433][..]), (&host("db2"), &[5434])]);
        for server in &target.servers {
            assert_eq!((server.get_user(), server.get_dbname()), (Some("a"), Some("c")));
            assert_eq!(server.get_keepalives_idle(), Duration::from_secs(7));
            assert_eq!(server.get_keepalives_retries(), Some(2));
        }
        for (attribute, expected) in [
            ("standby", WantedSession::ReadOnly),
            ("prefer-standby", WantedSession::PreferReadOnly),
            ("read-write", WantedSession::ReadWrite),
        ] {
            let target = parse(&format!("host=db1 target_session_attrs={attribute}")).unwrap();
            assert_eq!(target.session, Some(expected));
        }
        for refused in ["target_session_attrs=secondary", "keepalives_count=x", "port=1,2,3"] {
            assert!(parse(&format!("host=db1,db2 {refused}")).is_err(), "{refused}");
        }
    }

    #[test]
    fn primary_is_preferred_where_the_string_does_not_say_which_server() {
        let wanted = "target_session_attrs=read-write";
        for (uri, added) in [
            ("postgresql://a@db1/c", String::new()),
            ("postgresql://a@db1,db2/c", format!("?{wanted}")),
            ("postgresql://a@db1,db2/c?connect_timeout=3", format!("&{wanted}")),
            ("host=db1,db2 user=a", format!(" {wanted}")),
            ("host=db1,db2 user=a target_session_attrs=any", String::new()),
        ] {
            let preferring = prefer_primary(uri).unwrap();
            assert_eq!(preferring, format!("{uri}{added}"));
            let session = parse(&preferring).unwrap().session;
            assert_eq!(session == Some(WantedSession::ReadWrite), !added.is_empty(), "{uri}");
        }
    }

    #[test]
    fn missing_root_certificates_are_an_error() {
        let error = parse("postgres://a@b/c?sslmode=verify-full&sslrootcert=/does/not/exist.pem").unwrap_err();
        assert!(error.starts_with("sslrootcert /does/not/exist.pem:"), "{error}");
    }
}
