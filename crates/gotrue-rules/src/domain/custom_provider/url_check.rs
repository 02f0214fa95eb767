//! Validates URLs of custom providers: https, and no internal address.
//! Names are resolved elsewhere, and each resolved address is passed to [`validate_ip`].

use std::net::IpAddr;

use foundation::error::{Error, Result};
use url::Host;

use crate::domain::redirect::go_url::Url;
use crate::domain::redirect::is_loopback_or_unspecified;

/// The host of a validated URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlHost {
    /// A name that must still be resolved, unless a proxy resolves it.
    Name(String),
    /// A public IP address.
    Ip(IpAddr),
}

/// Validates a URL; 400 unless it is an https URL of a name or a public address.
pub fn validate_url(text: &str) -> Result<UrlHost> {
    let malformed = || Error::invalid("Invalid URL format");
    let url = Url::parse(text).map_err(|_| malformed())?;
    if url.scheme() != "https" {
        return Err(Error::invalid("URL must use HTTPS"));
    }
    if url.hostname().is_empty() {
        return Err(Error::invalid("URL must have a valid hostname"));
    }
    let host = url.hostname();
    if is_loopback_or_unspecified(host.strip_suffix(b".").unwrap_or(host)) {
        return Err(Error::invalid("URL cannot point to localhost or loopback addresses"));
    }
    // Parsed again as the HTTP client does, for which `0x7f.1` is an IP address.
    let called = url::Url::parse(text).map_err(|_| malformed())?;
    if !called.username().is_empty() || called.password().is_some() {
        return Err(malformed());
    }
    let ip = match called.host() {
        Some(Host::Domain(name)) => return Ok(UrlHost::Name(name.to_owned())),
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        None => return Err(malformed()),
    };
    validate_ip(ip).map(|()| UrlHost::Ip(ip))
}

/// 400 unless an address is public; the checks are in the reference's order.
pub fn validate_ip(ip: IpAddr) -> Result<()> {
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
            return Err(internal_address(what));
        }
    }
    Ok(())
}

/// 400 for an address that only this server's HTTP client guard rejects.
pub fn address_not_public() -> Error {
    internal_address("private network")
}

/// 400 for a name that cannot be resolved.
pub fn hostname_unresolved() -> Error {
    Error::invalid("Unable to resolve hostname")
}

fn internal_address(what: &str) -> Error {
    Error::invalid(format!("URL cannot resolve to {what} addresses"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_urls_are_rejected() {
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
            assert_eq!(validate_url(text).unwrap_err().message(), expected, "{text}");
        }
        assert_eq!(validate_url("https://Example.com:8443/x").unwrap(), UrlHost::Name("example.com".into()));
        assert_eq!(validate_url("https://203.0.113.10/").unwrap(), UrlHost::Ip("203.0.113.10".parse().unwrap()));
    }
}
