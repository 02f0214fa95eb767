//! By what requests are counted: the header the operator named, or the peer's address, in one form only.

use std::net::{IpAddr, SocketAddr};

use gotrue_rules::domain::policy::LimitKey;
use http::HeaderMap;
use http_edge::network_of;
use ipnet::IpNet;

/// What a request shows of who sent it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The address at the other end of the connection.
    pub peer: Option<IpAddr>,
    /// Whether `Sb-Forwarded-For` is trusted.
    pub sb_forwarded_for: bool,
}

/// The key a request is counted by; absent: it is not limited.
pub fn key_of(by: &LimitKey, request: Request<'_>) -> Option<String> {
    match by {
        LimitKey::Header(name) => sb_forwarded_for(request).or_else(|| named(request.headers, name)),
        LimitKey::Peer { trusted_proxies } => Some(peer(request, trusted_proxies)),
    }
}

fn sb_forwarded_for(request: Request<'_>) -> Option<String> {
    let first = first_part(request.headers, "sb-forwarded-for").filter(|_| request.sb_forwarded_for)?;
    first.parse::<IpAddr>().ok().map(|address| address.to_canonical().to_string())
}

fn named(headers: &HeaderMap, name: &str) -> Option<String> {
    first_part(headers, name).map(str::to_owned)
}

/// The part before the first comma of a header that is there and not empty.
fn first_part<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = std::str::from_utf8(headers.get(name)?.as_bytes()).ok().filter(|value| !value.is_empty())?;
    value.split(',').next().map(str::trim)
}

fn peer(request: Request<'_>, trusted: &[IpNet]) -> String {
    let address = peer_address(request.headers, request.peer, trusted);
    address.map_or_else(
        || "unknown".to_owned(),
        |address| match network_of(address) {
            IpNet::V4(net) => net.addr().to_string(),
            IpNet::V6(net) => net.to_string(),
        },
    )
}

/// The peer; behind trusted proxies the last address of `X-Forwarded-For` that none of them has.
pub fn peer_address(headers: &HeaderMap, peer: Option<IpAddr>, trusted: &[IpNet]) -> Option<IpAddr> {
    let mut address = peer?.to_canonical();
    let is_trusted = |address: IpAddr| trusted.iter().any(|net| net.contains(&address));
    let forwarded = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let mut parts: Vec<&str> = forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
    while is_trusted(address) {
        // What a proxy wrote that is no address ends the chain: the proxy itself is counted.
        let Some(before) = parts.pop().and_then(hop) else { break };
        address = before.to_canonical();
    }
    Some(address)
}

/// An address as a proxy writes it: with or without a port, IPv6 then in brackets.
fn hop(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}
