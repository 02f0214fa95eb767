//! Looks up the mail servers of a domain. Answers are cached for their TTL.

use std::fmt;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use foundation::error_chain::ErrorChain;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::{ResolverBuilder, TokioResolver};
use telemetry::log_limit::LogLimit;

/// The result of a look-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MailHosts {
    /// The hosts of MX records without trailing dot, else the addresses of the domain itself.
    Hosts(Vec<String>),
    /// The domain does not exist or has neither.
    Nothing,
    /// The look-up failed.
    Unknown,
}

/// The maximum number of cached answers.
const MAX_CACHED: u64 = 1024;
/// The time limit for one name server before the next is queried.
const SERVER_TIMEOUT: Duration = Duration::from_millis(1400);

/// A DNS client. The resolver is built on first use: most servers never need it.
pub(super) struct Dns {
    name_server: Option<SocketAddr>,
    resolver: OnceLock<Result<TokioResolver, NetError>>,
}

impl Dns {
    pub(super) fn from_system() -> Self {
        Self { name_server: None, resolver: OnceLock::new() }
    }

    pub(super) fn with_name_server(name_server: SocketAddr) -> Self {
        Self { name_server: Some(name_server), resolver: OnceLock::new() }
    }

    pub(super) async fn find_mail_hosts(&self, domain: &str) -> MailHosts {
        let resolver = match self.resolver.get_or_init(|| self.build()) {
            Ok(resolver) => resolver,
            Err(error) => return log_unknown(error),
        };
        // The trailing dot makes the name absolute, so that the system's search domains do not apply.
        let name = format!("{domain}.");
        match resolver.mx_lookup(name.as_str()).await {
            Ok(lookup) => {
                MailHosts::Hosts(lookup.answers().iter().filter_map(|record| parse_mail_host(&record.data)).collect())
            }
            Err(error) if !error.is_no_records_found() => log_unknown(&error),
            Err(_) => match resolver.lookup_ip(name.as_str()).await {
                Ok(addresses) => MailHosts::Hosts(addresses.iter().map(|address| address.to_string()).collect()),
                Err(error) if error.is_no_records_found() => MailHosts::Nothing,
                Err(error) => log_unknown(&error),
            },
        }
    }

    fn build(&self) -> Result<TokioResolver, NetError> {
        let mut builder = match self.name_server {
            None => TokioResolver::builder_tokio()?,
            Some(server) => build_resolver(server),
        };
        let options = builder.options_mut();
        options.cache_size = MAX_CACHED;
        options.timeout = SERVER_TIMEOUT;
        options.attempts = 2;
        builder.build()
    }
}

fn build_resolver(server: SocketAddr) -> ResolverBuilder<TokioRuntimeProvider> {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = server.port();
        connection
    });
    let servers = vec![NameServerConfig::new(server.ip(), true, connections.into())];
    let config = ResolverConfig::from_name_servers(servers);
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
}

fn parse_mail_host(data: &RData) -> Option<String> {
    let RData::MX(mx) = data else { return None };
    Some(mx.exchange.to_ascii().trim_end_matches('.').to_owned())
}

/// Lines about failed look-ups: any client can name a host whose name servers do not answer.
static FAILED_LOOKUPS: LogLimit = LogLimit::new();

fn log_unknown(error: &NetError) -> MailHosts {
    let error = ErrorChain(error);
    if let Some(left_out) = FAILED_LOOKUPS.admit("") {
        tracing::warn!(%error, left_out, "DNS look-up of address host failed, address accepted");
    } else {
        tracing::debug!(%error, "DNS look-up of address host failed, address accepted");
    }
    MailHosts::Unknown
}

impl fmt::Debug for Dns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dns").field("name_server", &self.name_server).finish_non_exhaustive()
    }
}
