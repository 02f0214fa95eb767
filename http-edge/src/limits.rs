//! Limits of the HTTP edge: `[basalt.http]` of `config.toml`, or the defaults.

use std::time::Duration;

use ipnet::IpNet;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Handles that connections leave to the database, files and outgoing requests.
const RESERVED_HANDLES: u64 = 256;

/// Limits of connections and time. A count of 0 is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpLimits {
    /// Most connections at once.
    pub max_connections: usize,
    /// Most connections at once from one IPv4 address or IPv6 /64.
    pub max_connections_per_peer: usize,
    /// Networks to which the limit per peer does not apply: proxies, which bring the connections of many.
    pub proxies: Vec<IpNet>,
    /// From the first byte of a request's head to its last.
    pub header_timeout: Duration,
    /// Between two parts of a request's body.
    pub body_timeout: Duration,
    /// How long a client may accept no byte of a response.
    pub write_timeout: Duration,
    /// From one request to the next, and before the first.
    pub idle_timeout: Duration,
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
        }
    }
}

impl HttpLimits {
    /// The limits of `basalt gotrue`: a gateway stands in front of it, so that all connections come from one peer and rest
    /// for as long as the gateway keeps them, which no gateway of a cloud does for longer than ten minutes.
    pub fn behind_gateway() -> Self {
        Self { max_connections_per_peer: 0, idle_timeout: Duration::from_secs(620), ..Self::default() }
    }

    /// The most connections that the process can hold at once; logs when its limit of open files is the lower one. Raises
    /// the soft limit of open files as far as is needed and allowed.
    pub fn attainable_connections(&self) -> usize {
        let wanted = match self.max_connections {
            0 => u64::MAX,
            wanted => u64::try_from(wanted).unwrap_or(u64::MAX),
        };
        let Some(handles) = raise_open_files(wanted.saturating_add(RESERVED_HANDLES)) else {
            return usize::try_from(wanted).unwrap_or(usize::MAX);
        };
        let most = handles.saturating_sub(RESERVED_HANDLES).max(handles / 2).max(1);
        if most < wanted && self.max_connections != 0 {
            tracing::info!(open_files = handles, connections = most, "the limit of open files limits connections");
        }
        usize::try_from(most.min(wanted)).unwrap_or(usize::MAX)
    }
}

/// Raises the soft limit of open files to that many, at most to the hard limit; the limit then, none if there is none.
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
