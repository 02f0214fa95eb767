//! Which addresses count as one client.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Returns the network of one subscriber: an IPv4 address, or the /64 of an IPv6 address.
pub fn subscriber_network(address: IpAddr) -> IpNet {
    match address.to_canonical() {
        IpAddr::V4(address) => Ipv4Net::from(address).into(),
        IpAddr::V6(address) => Ipv6Net::new_assert(address, 64).trunc().into(),
    }
}
