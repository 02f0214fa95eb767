//! The client address of a request, and the network that limits count it by.
//! It is the address of the connection, unless that is a configured proxy: a header that any client can set must not
//! select the subject of a limit.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http::HeaderMap;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::forwarded::X_FORWARDED_FOR;

/// The address of a client in canonical form: an IPv4-mapped IPv6 address is IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// Creates the address of a client without proxies.
    pub fn new(address: IpAddr) -> Self {
        Self(address.to_canonical())
    }

    /// Returns the address of an unknown client; all of these share their limits.
    pub fn unknown() -> Self {
        Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    /// Returns the client of a connection from `peer`.
    /// It is the peer; if that is a trusted proxy, the last hop of `X-Forwarded-For` that is none. Hops before it are
    /// untrusted and ignored. An invalid hop ends the chain: the proxy that wrote it is the client.
    pub fn resolve(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> Self {
        let is_proxy = |client: Self| trusted_proxies.iter().any(|network| network.contains(&client.0));
        let mut client = Self::new(peer);
        if !is_proxy(client) {
            return client;
        }
        let lines: Vec<_> = headers.get_all(X_FORWARDED_FOR).iter().collect();
        let mut hops = lines.iter().rev().flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        while is_proxy(client) {
            let Some(hop) = hops.next().and_then(parse_hop) else { break };
            client = Self::new(hop);
        }
        client
    }

    /// Returns the address.
    pub fn address(self) -> IpAddr {
        self.0
    }

    /// Returns the network of one subscriber: an IPv4 address, or the /64 of an IPv6 address.
    pub fn network(self) -> IpNet {
        match self.0 {
            IpAddr::V4(address) => Ipv4Net::from(address).into(),
            IpAddr::V6(address) => Ipv6Net::new_assert(address, 64).trunc().into(),
        }
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

    /// Returns the client of a connection from `peer`, see [`ClientAddress::resolve`].
    pub fn find_client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        ClientAddress::resolve(peer, headers, &self.0)
    }
}

/// Parses the address of a hop: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn parse_hop(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let with_port = || hop.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    bare.unwrap_or(hop).parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (X_FORWARDED_FOR, line.parse().expect("a header"))).collect()
    }

    fn client(trusted: &[&str], address: &str, lines: &[&str]) -> String {
        let trusted = TrustedProxies::new(trusted.iter().map(|network| network.parse().expect("a network")));
        trusted.find_client(address.parse().expect("an address"), &headers(lines)).address().to_string()
    }

    #[test]
    fn forwarded_for_is_ignored_without_trusted_proxy() {
        assert_eq!(client(&[], "192.0.2.7", &["198.51.100.1"]), "192.0.2.7");
        assert_eq!(client(&["10.0.0.0/8"], "192.0.2.7", &["198.51.100.1"]), "192.0.2.7");
    }

    #[test]
    fn client_is_last_untrusted_hop() {
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
            assert_eq!(client(&trusted, address, &lines), expected, "{address} {lines:?}");
        }
    }

    #[test]
    fn network_is_canonical() {
        let network = |text: &str| ClientAddress::new(text.parse().expect("an address")).network().to_string();
        assert_eq!(network("192.0.2.7"), "192.0.2.7/32");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7/32");
        assert_eq!(network("2001:db8:0:1::1"), "2001:db8:0:1::/64");
        assert_eq!(network("2001:0db8:0000:0001:ffff:ffff:ffff:ffff"), "2001:db8:0:1::/64");
    }

    proptest! {
        #[test]
        fn client_of_a_proxy_is_the_hop_that_it_appended(address: std::net::Ipv4Addr, before in "[ -~]{0,40}") {
            let trusted = TrustedProxies::new(["10.0.0.0/8".parse().expect("a network")]);
            prop_assume!(address.octets()[0] != 10);
            let proxy = Ipv4Addr::new(10, 0, 0, 1).into();
            let found = trusted.find_client(proxy, &headers(&[&format!("{before}, {address}")]));
            prop_assert_eq!(found, ClientAddress::new(address.into()));
        }

        #[test]
        fn untrusted_client_cannot_forge_its_address(address: std::net::Ipv4Addr, lines in prop::collection::vec("[ -~]{0,40}", 0..4)) {
            let trusted = TrustedProxies::new(["10.0.0.0/8".parse().expect("a network")]);
            prop_assume!(address.octets()[0] != 10);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            prop_assert_eq!(trusted.find_client(address.into(), &headers(&lines)), ClientAddress::new(address.into()));
        }
    }
}
