//! The client of a request as the policy identifies it: its address and its rate-limit key.

use std::net::IpAddr;

use foundation::limits::LimitKey;
use http::HeaderMap;
use http_edge::request::ClientAddress;
use http_edge::request::forwarded::{first_element, first_forwarded_for, first_sb_forwarded_for};
use ipnet::IpNet;

/// The data of a request that can identify its sender.
#[derive(Debug, Clone, Copy)]
pub struct ClientRequest<'a> {
    pub headers: &'a HeaderMap,
    /// The address of the TCP peer.
    pub peer: Option<IpAddr>,
    /// The client address, if a router before the auth API has resolved it.
    pub resolved: Option<ClientAddress>,
    /// Whether `Sb-Forwarded-For` is trusted.
    pub sb_forwarded_for: bool,
}

impl ClientRequest<'_> {
    fn sb_forwarded_for(self) -> Option<IpAddr> {
        self.sb_forwarded_for.then(|| first_sb_forwarded_for(self.headers)).flatten()
    }

    fn client(self, trusted_proxies: &[IpNet]) -> Option<ClientAddress> {
        self.resolved.or_else(|| Some(ClientAddress::resolve(self.peer?, self.headers, trusted_proxies)))
    }
}

/// Returns the key of a request; `None` if it is not limited.
pub fn find_key(by: &LimitKey, request: ClientRequest<'_>) -> Option<String> {
    match by {
        LimitKey::Header(name) => match request.sb_forwarded_for() {
            Some(address) => Some(address.to_string()),
            None => first_element(request.headers, name).map(str::to_owned),
        },
        LimitKey::Peer { trusted_proxies } => Some(match request.client(trusted_proxies).map(ClientAddress::network) {
            None => "unknown".to_owned(),
            Some(IpNet::V4(network)) => network.addr().to_string(),
            Some(IpNet::V6(network)) => network.to_string(),
        }),
    }
}

/// Returns the client's address for audit entries, sessions and hooks; `None` if it is unknown.
///
/// If requests are counted by a configured header, GoTrue's rule applies: `Sb-Forwarded-For` where enabled, else the
/// first address of `X-Forwarded-For`, even from an untrusted peer. If they are counted by peer, only forwarded headers
/// of trusted proxies are used.
pub fn client_ip(by: &LimitKey, request: ClientRequest<'_>) -> Option<IpAddr> {
    match by {
        LimitKey::Header(_) => {
            request.sb_forwarded_for().or_else(|| first_forwarded_for(request.headers)).or(request.peer)
        }
        LimitKey::Peer { trusted_proxies } => request.client(trusted_proxies).map(ClientAddress::address),
    }
}
