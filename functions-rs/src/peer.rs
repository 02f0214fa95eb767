//! The client address of a call.
//! It is the address of the connection, unless that is a configured proxy: a header that any client can set must not
//! select the subject of a limit.

use std::net::{IpAddr, Ipv4Addr};

use gotrue_rs::ports::limits::subscriber_network;
use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client address of a call in canonical form: an IPv4-mapped IPv6 address is IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Peer(IpAddr);

impl Peer {
    /// Creates a peer with this address.
    pub fn new(address: IpAddr) -> Self {
        Self(address.to_canonical())
    }

    /// Returns the peer of an unknown address; all of these share their limits.
    pub fn unknown() -> Self {
        Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    /// Returns the address.
    pub fn address(self) -> IpAddr {
        self.0
    }

    /// Returns the network that limits count by: the address, or for IPv6 the /64, which one customer owns.
    pub fn network(self) -> IpNet {
        subscriber_network(self.0)
    }
}

/// The proxies whose `X-Forwarded-For` is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Trusts proxies in these networks; if empty, the header is ignored.
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> Self {
        Self(networks.into_iter().collect())
    }

    /// Returns the peer of a connection from `address`: the last hop that is not a proxy.
    /// Hops before it are untrusted and ignored.
    pub fn find_peer(&self, address: IpAddr, headers: &HeaderMap) -> Peer {
        let mut peer = Peer::new(address);
        let lines: Vec<_> = headers.get_all(&FORWARDED_FOR).iter().collect();
        let mut hops = lines.iter().rev().flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        while self.contains(peer) {
            let Some(hop) = hops.next() else { break };
            let Some(address) = parse_hop(hop) else { break };
            peer = Peer::new(address);
        }
        peer
    }

    fn contains(&self, peer: Peer) -> bool {
        self.0.iter().any(|network| network.contains(&peer.address()))
    }
}

/// Parses the address of a hop: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn parse_hop(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let with_port = || hop.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip());
    bare.unwrap_or(hop).parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (FORWARDED_FOR.clone(), line.parse().expect("a header"))).collect()
    }

    fn peer(trusted: &[&str], address: &str, lines: &[&str]) -> String {
        let trusted = TrustedProxies::new(trusted.iter().map(|it| it.parse().expect("a network")));
        trusted.find_peer(address.parse().expect("an address"), &headers(lines)).address().to_string()
    }

    #[test]
    fn forwarded_for_is_ignored_without_trusted_proxy() {
        assert_eq!(peer(&[], "192.0.2.7", &["198.51.100.1"]), "192.0.2.7");
        assert_eq!(peer(&["10.0.0.0/8"], "192.0.2.7", &["198.51.100.1"]), "192.0.2.7");
    }

    #[test]
    fn peer_is_last_untrusted_hop() {
        let trusted = ["10.0.0.0/8", "fd00::/8"];
        for (address, lines, expected) in [
            ("10.0.0.1", vec!["198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", vec!["203.0.113.9, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", vec!["203.0.113.9", "198.51.100.1 , 10.9.9.9"], "198.51.100.1"),
            ("10.0.0.1", vec!["198.51.100.1:4711"], "198.51.100.1"),
            ("fd00::1", vec!["[2001:db8::5]:443"], "2001:db8::5"),
            ("fd00::1", vec!["[2001:db8::5]"], "2001:db8::5"),
            ("::ffff:10.0.0.1", vec!["::ffff:198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", vec!["198.51.100.1, nonsense"], "10.0.0.1"),
            ("10.0.0.1", vec![""], "10.0.0.1"),
            ("10.0.0.1", vec![], "10.0.0.1"),
            ("10.0.0.1", vec!["10.0.0.2"], "10.0.0.2"),
        ] {
            assert_eq!(peer(&trusted, address, &lines), expected, "{address} {lines:?}");
        }
    }

    #[test]
    fn network_is_canonical() {
        let network = |text: &str| Peer::new(text.parse().expect("an address")).network().to_string();
        assert_eq!(network("192.0.2.7"), "192.0.2.7/32");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7/32");
        assert_eq!(network("2001:db8:0:1::1"), "2001:db8:0:1::/64");
        assert_eq!(network("2001:0db8:0000:0001:ffff:ffff:ffff:ffff"), "2001:db8:0:1::/64");
    }

    proptest! {
        #[test]
        fn untrusted_client_cannot_forge_peer(address: std::net::Ipv4Addr, lines in prop::collection::vec("[ -~]{0,40}", 0..4)) {
            let trusted = TrustedProxies::new(["10.0.0.0/8".parse().expect("a network")]);
            prop_assume!(address.octets()[0] != 10);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            prop_assert_eq!(trusted.find_peer(address.into(), &headers(&lines)), Peer::new(address.into()));
        }
    }
}
