//! Limits of the HTTP edge: `[basalt.http]` of `config.toml`, or the defaults.

use std::time::Duration;

use ipnet::IpNet;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// File descriptors reserved for the database, files and outgoing requests.
const RESERVED_DESCRIPTORS: u64 = 256;

/// Connection limits and timeouts.
/// A count of 0 means no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpLimits {
    /// Maximum number of concurrent connections.
    pub max_connections: usize,
    /// Maximum number of concurrent connections from one IPv4 address or IPv6 /64.
    pub max_connections_per_peer: usize,
    /// Networks exempt from the limit per peer: proxies, which forward many clients' connections.
    pub proxies: Vec<IpNet>,
    /// Time from the first byte of a request's head to its last.
    pub header_timeout: Duration,
    /// Time between two parts of a request's body.
    pub body_timeout: Duration,
    /// Time that a client may go without accepting a byte of a response.
    pub write_timeout: Duration,
    /// Time between two requests, and before the first.
    pub idle_timeout: Duration,
    /// Time that idle connections stay open after the listener is closed.
    ///
    /// A request on its way is still answered.
    pub closing_grace: Duration,
    /// Whether `<` and `>` in request targets are percent-encoded; otherwise they are answered with 400.
    pub encodes_targets: bool,
    /// Whether requests may have more than one `Host`, for servers that do not read it; otherwise they are answered with 400.
    pub accepts_repeated_host: bool,
}

impl Default for HttpLimits {
    /// The limits of `basalt serve`.
    fn default() -> Self {
        Self {
            max_connections: 16_384,
            max_connections_per_peer: 1_024,
            proxies: Vec::new(),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(15),
            write_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            closing_grace: Duration::ZERO,
            encodes_targets: false,
            accepts_repeated_host: false,
        }
    }
}

impl HttpLimits {
    /// Returns the limits of `basalt gotrue`, which runs behind a gateway.
    /// All connections come from that one peer and stay idle as long as the gateway keeps them; cloud gateways keep
    /// them for at most ten minutes.
    pub fn behind_gateway() -> Self {
        Self { max_connections_per_peer: 0, idle_timeout: Duration::from_secs(620), ..Self::default() }
    }

    /// Returns how many connections the process can hold, raising the soft limit of open files as needed.
    /// Logs when the limit of open files is lower than the configured one.
    pub fn attainable_connections(&self) -> usize {
        let wanted = match self.max_connections {
            0 => u64::MAX,
            wanted => u64::try_from(wanted).unwrap_or(u64::MAX),
        };
        let Some(handles) = raise_open_files(wanted.saturating_add(RESERVED_DESCRIPTORS)) else {
            return usize::try_from(wanted).unwrap_or(usize::MAX);
        };
        let most = handles.saturating_sub(RESERVED_DESCRIPTORS).max(handles / 2).max(1);
        if most < wanted && self.max_connections != 0 {
            tracing::info!(open_files = handles, connections = most, "limit of open files limits connections");
        }
        usize::try_from(most.min(wanted)).unwrap_or(usize::MAX)
    }
}

/// Raises the soft limit of open files to `wanted`, at most to the hard limit.
/// Returns the resulting limit, `None` if there is none.
fn raise_open_files(wanted: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let current = current?;
    let target = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    if target <= current {
        return Some(current);
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(target), maximum });
    Some(if raised.is_ok() { target } else { current })
}
