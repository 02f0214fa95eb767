//! Addresses of stored providers: https, and nowhere inside. What can be said without resolving a name is said here;
//! the addresses that a name resolves to are judged one by one.

use std::net::IpAddr;

use url::Host;

use crate::domain::error::{Error, Result};
use crate::domain::redirect::go_url::Url;

/// Whom an address leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A name that is still to be resolved, unless a proxy does it.
    Name(String),
    /// An address that may be called.
    Ip(IpAddr),
}

/// Where an address leads: 400 unless it is one of https that leads outside, as far as can be told.
pub fn place(text: &str) -> Result<Place> {
    let malformed = || Error::invalid("Invalid URL format");
    let url = Url::parse(text).map_err(|_| malformed())?;
    if url.scheme() != "https" {
        return Err(Error::invalid("URL must use HTTPS"));
    }
    if url.hostname().is_empty() {
        return Err(Error::invalid("URL must have a valid hostname"));
    }
    if is_localhost(&url.hostname().to_ascii_lowercase()) {
        return Err(Error::invalid("URL cannot point to localhost or loopback addresses"));
    }
    // How it will be read when it is called: `0x7f.1` is an address then.
    let called = url::Url::parse(text).map_err(|_| malformed())?;
    if !called.username().is_empty() || called.password().is_some() {
        return Err(malformed());
    }
    let ip = match called.host() {
        Some(Host::Domain(name)) => return Ok(Place::Name(name.to_owned())),
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        None => return Err(malformed()),
    };
    check_ip(ip).map(|()| Place::Ip(ip))
}

fn is_localhost(host: &[u8]) -> bool {
    let names: [&[u8]; 5] = [b"localhost", b"127.0.0.1", b"::1", b"0.0.0.0", b"::"];
    let host = host.strip_suffix(b".").unwrap_or(host);
    names.contains(&host) || host.ends_with(b".localhost")
}

/// 400 unless an address is outside, in the recorded order.
pub fn check_ip(ip: IpAddr) -> Result<()> {
    let ip = ip.to_canonical();
    let is_private = match ip {
        IpAddr::V4(ip) => ip.is_private(),
        IpAddr::V6(ip) => ip.is_unique_local(),
    };
    let is_link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.segments()[0] & 0xff0f == 0xff02,
    };
    for (is_so, what) in [
        (ip.is_loopback(), "loopback"),
        (is_private, "private network"),
        (is_link_local, "link-local"),
        (ip.is_multicast(), "multicast"),
        (ip.is_unspecified(), "unspecified"),
    ] {
        if is_so {
            return Err(inside(what));
        }
    }
    Ok(())
}

/// 400 for an address that is not public for a reason of ours: the guarded door would not call it.
pub fn not_public() -> Error {
    inside("private network")
}

/// 400 for a name that nobody knows.
pub fn unresolved() -> Error {
    Error::invalid("Unable to resolve hostname")
}

fn inside(what: &str) -> Error {
    Error::invalid(format!("URL cannot resolve to {what} addresses"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_outside() {
        for (text, expected) in [
            ("http://203.0.113.10/authorize", "URL must use HTTPS"),
            ("ftp://example.com", "URL must use HTTPS"),
            ("/authorize", "URL must use HTTPS"),
            ("https:///authorize", "URL must have a valid hostname"),
            ("https://:443/", "URL must have a valid hostname"),
            ("https://203.0.113.10:port/", "Invalid URL format"),
            ("https://user@example.com/", "Invalid URL format"),
            ("https://exa mple.com/", "Invalid URL format"),
            ("https://LOCALHOST/", "URL cannot point to localhost or loopback addresses"),
            ("https://localhost./", "URL cannot point to localhost or loopback addresses"),
            ("https://auth.localhost/", "URL cannot point to localhost or loopback addresses"),
            ("https://[::1]/", "URL cannot point to localhost or loopback addresses"),
            ("https://0.0.0.0/", "URL cannot point to localhost or loopback addresses"),
            ("https://127.8.9.10/", "URL cannot resolve to loopback addresses"),
            ("https://0x7f.1/", "URL cannot resolve to loopback addresses"),
            ("https://2130706433/", "URL cannot resolve to loopback addresses"),
            ("https://[::ffff:127.0.0.1]/", "URL cannot resolve to loopback addresses"),
            ("https://10.1.2.3/", "URL cannot resolve to private network addresses"),
            ("https://[fd00::1]/", "URL cannot resolve to private network addresses"),
            ("https://169.254.169.254/latest", "URL cannot resolve to link-local addresses"),
            ("https://224.0.0.251/", "URL cannot resolve to link-local addresses"),
            ("https://[ff02::1]/", "URL cannot resolve to link-local addresses"),
            ("https://224.0.1.1/", "URL cannot resolve to multicast addresses"),
            ("https://[ff0e::1]/", "URL cannot resolve to multicast addresses"),
        ] {
            assert_eq!(place(text).unwrap_err().message(), expected, "{text}");
        }
        assert_eq!(place("https://Example.com:8443/x").unwrap(), Place::Name("example.com".into()));
        assert_eq!(place("https://203.0.113.10/").unwrap(), Place::Ip("203.0.113.10".parse().unwrap()));
    }
}
