//! Which hosts take the mail of a domain, as the DNS has it. Answers are kept as long as they themselves allow.

use std::fmt;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::{ResolverBuilder, TokioResolver};

/// What the DNS knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Hosts of MX records without a dot at the end, else addresses of the domain itself.
    Hosts(Vec<String>),
    /// The domain has neither, or does not exist.
    Nothing,
    /// Nobody could tell.
    Unknown,
}

/// Most answers that are kept.
const KEPT: u64 = 1024;
/// Longest wait for one name server; a second is asked then.
const ONE_SERVER: Duration = Duration::from_millis(1400);

/// Looks names up. The resolver is built when first used: most servers never need it.
pub(super) struct Dns {
    name_server: Option<SocketAddr>,
    resolver: OnceLock<Result<TokioResolver, NetError>>,
}

impl Dns {
    pub fn of_the_system() -> Self {
        Self { name_server: None, resolver: OnceLock::new() }
    }

    pub fn at(name_server: SocketAddr) -> Self {
        Self { name_server: Some(name_server), resolver: OnceLock::new() }
    }

    pub async fn mail_hosts(&self, domain: &str) -> Found {
        let resolver = match self.resolver.get_or_init(|| self.build()) {
            Ok(resolver) => resolver,
            Err(error) => return unknown(error),
        };
        // With its dot at the end a name is looked up as it stands, never below the system's own domains.
        let name = format!("{domain}.");
        match resolver.mx_lookup(name.as_str()).await {
            Ok(lookup) => Found::Hosts(lookup.answers().iter().filter_map(|record| mail_host(&record.data)).collect()),
            Err(error) if !error.is_no_records_found() => unknown(&error),
            Err(_) => match resolver.lookup_ip(name.as_str()).await {
                Ok(addresses) => Found::Hosts(addresses.iter().map(|address| address.to_string()).collect()),
                Err(error) if error.is_no_records_found() => Found::Nothing,
                Err(error) => unknown(&error),
            },
        }
    }

    fn build(&self) -> Result<TokioResolver, NetError> {
        let mut builder = match self.name_server {
            None => TokioResolver::builder_tokio()?,
            Some(server) => at(server),
        };
        let options = builder.options_mut();
        options.cache_size = KEPT;
        options.timeout = ONE_SERVER;
        options.attempts = 2;
        builder.build()
    }
}

fn at(server: SocketAddr) -> ResolverBuilder<TokioRuntimeProvider> {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = server.port();
        connection
    });
    let servers = vec![NameServerConfig::new(server.ip(), true, connections.into())];
    let config = ResolverConfig::from_name_servers(servers);
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
}

fn mail_host(data: &RData) -> Option<String> {
    let RData::MX(mx) = data else { return None };
    Some(mx.exchange.to_ascii().trim_end_matches('.').to_owned())
}

fn unknown(error: &NetError) -> Found {
    tracing::warn!(%error, "the host of an address could not be looked up; the address is taken");
    Found::Unknown
}

impl fmt::Debug for Dns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dns").field("name_server", &self.name_server).finish_non_exhaustive()
    }
}
