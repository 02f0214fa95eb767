//! The rate-limit key of a request: the configured header or the peer's address, normalized.

use std::net::{IpAddr, SocketAddr};

use gotrue_rules::domain::policy::LimitKey;
use http::HeaderMap;
use http_edge::subscriber_network;
use ipnet::IpNet;

/// The data of a request that can identify its sender.
#[derive(Debug, Clone, Copy)]
pub struct ClientRequest<'a> {
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The address of the TCP peer.
    pub peer: Option<IpAddr>,
    /// Whether `Sb-Forwarded-For` is trusted.
    pub sb_forwarded_for: bool,
}

/// Returns the key of a request; `None` if it is not limited.
pub fn find_key(by: &LimitKey, request: ClientRequest<'_>) -> Option<String> {
    match by {
        LimitKey::Header(name) => sb_forwarded_for_key(request).or_else(|| header_key(request.headers, name)),
        LimitKey::Peer { trusted_proxies } => Some(peer_key(request, trusted_proxies)),
    }
}

fn sb_forwarded_for_key(request: ClientRequest<'_>) -> Option<String> {
    let first = first_part(request.headers, "sb-forwarded-for").filter(|_| request.sb_forwarded_for)?;
    first.parse::<IpAddr>().ok().map(|address| address.to_canonical().to_string())
}

fn header_key(headers: &HeaderMap, name: &str) -> Option<String> {
    first_part(headers, name).map(str::to_owned)
}

/// Returns the part before the first comma of a header; `None` if it is missing or empty.
fn first_part<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = std::str::from_utf8(headers.get(name)?.as_bytes()).ok().filter(|value| !value.is_empty())?;
    value.split(',').next().map(str::trim)
}

fn peer_key(request: ClientRequest<'_>, trusted: &[IpNet]) -> String {
    let address = client_address(request.headers, request.peer, trusted);
    address.map_or_else(
        || "unknown".to_owned(),
        |address| match subscriber_network(address) {
            IpNet::V4(net) => net.addr().to_string(),
            IpNet::V6(net) => net.to_string(),
        },
    )
}

/// Returns the peer's address; behind trusted proxies the last untrusted address of `X-Forwarded-For`.
pub fn client_address(headers: &HeaderMap, peer: Option<IpAddr>, trusted: &[IpNet]) -> Option<IpAddr> {
    let mut address = peer?.to_canonical();
    let is_trusted = |address: IpAddr| trusted.iter().any(|net| net.contains(&address));
    let forwarded = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let mut parts: Vec<&str> = forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
    while is_trusted(address) {
        // An invalid entry ends the chain: the proxy that wrote it is counted.
        let Some(before) = parts.pop().and_then(parse_hop) else { break };
        address = before.to_canonical();
    }
    Some(address)
}

/// Parses an address of a forwarded header: with or without a port, IPv6 with a port in brackets.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}
