//! The URL of a database: one server or several, and which kind of session is wanted.
//!
//! The form is that of libpq
//! ([connection URIs](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS)); several
//! servers are separated by commas in the host part or in the parameters `host` and `port`.

mod database_name;
mod error;
mod parameters;
mod session_target;

use std::time::Duration;

pub use self::database_name::{find_database, with_database};
pub use self::error::DatabaseUrlError;
use self::error::{MAX_LENGTH, MAX_SERVERS};
pub use self::parameters::Keepalives;
use self::parameters::{Parameters, decode};
pub use self::session_target::SessionTarget;
use crate::secret::Secret;

/// A parsed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    /// A URL per server, in the order of the list, without the parameters that this type holds.
    pub servers: Vec<Secret>,
    /// `target_session_attrs`; `None` if it is not given.
    pub target: Option<SessionTarget>,
    /// `connect_timeout`; `None` if it is not given or 0.
    pub connect_timeout: Option<Duration>,
    /// When idle connections are tested.
    pub keepalives: Keepalives,
    /// Whether `sslrootcert` names a certificate authority.
    pub names_trusted_root: bool,
    /// The names of parameters without effect. They are not in the URLs of the servers.
    pub ignored: Vec<String>,
}

/// A server of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Server {
    host: String,
    port: String,
}

impl DatabaseUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// The scheme, the list of servers or one of the parameters of [`DatabaseUrl`] is invalid. User, password, database
    /// and other parameters are not examined.
    pub fn parse(text: &str) -> Result<Self, DatabaseUrlError> {
        if text.len() > MAX_LENGTH {
            return Err(DatabaseUrlError::Length);
        }
        let rest = text.strip_prefix("postgresql://").or_else(|| text.strip_prefix("postgres://"));
        let rest = rest.ok_or(DatabaseUrlError::Scheme)?;
        let (location, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = location.split_once('/').unwrap_or((location, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        let mut parameters = Parameters::parse(query)?;
        let servers = match list_servers(hosts, &parameters)? {
            None => {
                let query = if parameters.others.is_empty() { String::new() } else { parameters.query() };
                vec![Secret::new(format!("postgres://{location}{query}"))]
            }
            Some(servers) => {
                parameters.remove_location();
                let user = user.map(|user| format!("{user}@")).unwrap_or_default();
                let url = |server: &Server| {
                    let query = parameters.query_for(&server.host, &server.port);
                    Secret::new(format!("postgres://{user}localhost/{database}{query}"))
                };
                servers.iter().map(url).collect()
            }
        };
        Ok(Self {
            servers,
            target: parameters.target,
            connect_timeout: parameters.connect_timeout,
            keepalives: parameters.keepalives(),
            names_trusted_root: parameters.names_trusted_root,
            ignored: parameters.ignored,
        })
    }

    /// The kind of session that a process which writes needs.
    ///
    /// Of several servers one that accepts writes is chosen, unless the URL asks for something else.
    pub fn target_for_writes(&self) -> SessionTarget {
        let several = if self.servers.len() > 1 { SessionTarget::ReadWrite } else { SessionTarget::Any };
        self.target.unwrap_or(several)
    }
}

/// Returns the servers if host part or parameters list several; `None` for a URL of one server.
fn list_servers(authority: &str, parameters: &Parameters) -> Result<Option<Vec<Server>>, DatabaseUrlError> {
    let listed = |name| parameters.location(name).filter(|text| !text.is_empty());
    let (hosts, ports) = (listed("hostaddr").or_else(|| listed("host")), listed("port"));
    let is_list = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(','));
    if !authority.contains(',') && !is_list(&hosts) && !is_list(&ports) {
        return Ok(None);
    }
    let mut servers: Vec<Server> = match &hosts {
        Some(hosts) => hosts.split(',').map(|host| Server { host: host.to_owned(), port: String::new() }).collect(),
        None => authority.split(',').map(split_port).collect::<Result<_, _>>()?,
    };
    if servers.len() > MAX_SERVERS {
        return Err(DatabaseUrlError::TooManyServers);
    }
    if servers.iter().any(|server| server.host.is_empty()) {
        return Err(DatabaseUrlError::EmptyHost);
    }
    if let Some(ports) = &ports {
        let ports: Vec<&str> = ports.split(',').collect();
        if ports.len() != 1 && ports.len() != servers.len() {
            return Err(DatabaseUrlError::PortCount { hosts: servers.len(), ports: ports.len() });
        }
        for (server, port) in servers.iter_mut().zip(ports.iter().cycle()) {
            (*port).clone_into(&mut server.port);
        }
    }
    let is_valid = |port: &str| port.is_empty() || port.parse::<u16>().is_ok_and(|port| port > 0);
    if servers.iter().all(|server| is_valid(&server.port)) { Ok(Some(servers)) } else { Err(DatabaseUrlError::Port) }
}

/// Splits `host:port`; an IPv6 address is in brackets.
fn split_port(text: &str) -> Result<Server, DatabaseUrlError> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => (address, ""),
        Some((address, rest)) => (address, rest.strip_prefix(':').ok_or(DatabaseUrlError::Port)?),
        None => text.split_once(':').unwrap_or((text, "")),
    };
    Ok(Server { host: decode(host), port: port.to_owned() })
}
