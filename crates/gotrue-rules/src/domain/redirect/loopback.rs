//! The definitions of a loopback host: this project's own, and the narrower lists of the reference.

use std::net::IpAddr;

use super::go_url::Url;

/// Whether a host is loopback: `localhost`, a subdomain of it (RFC 6761 §6.3), 127.0.0.0/8 or `::1`.
/// An IPv6 address may be in brackets.
pub fn is_loopback_host(host: &str) -> bool {
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(ip) = host.parse::<IpAddr>() {
        return ip.to_canonical().is_loopback();
    }
    let host = host.to_ascii_lowercase();
    let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-');
    host == "localhost" || (is_name && host.ends_with(".localhost"))
}

/// The loopback hosts that the reference knows by name, in lower case.
pub const LOOPBACK_NAMES: [&[u8]; 3] = [b"localhost", b"127.0.0.1", b"::1"];
const UNSPECIFIED_NAMES: [&[u8]; 2] = [b"0.0.0.0", b"::"];

/// Whether the reference regards a host as loopback or unspecified (RFC 8252 §7.3).
pub fn is_loopback_or_unspecified(host: &[u8]) -> bool {
    let host = host.to_ascii_lowercase();
    let is_listed = LOOPBACK_NAMES.contains(&&*host) || UNSPECIFIED_NAMES.contains(&&*host);
    is_listed || host.ends_with(b".localhost")
}

/// Whether an absolute `http` or `https` URL has a loopback host.
pub fn is_loopback_url(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && has_loopback_host(&url))
}

pub(super) fn has_loopback_host(url: &Url) -> bool {
    std::str::from_utf8(url.hostname()).is_ok_and(is_loopback_host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts_are_recognized() {
        for host in
            ["localhost", "LOCALHOST", "shop.localhost", "127.0.0.1", "127.9.8.7", "::1", "[::1]", "[::ffff:127.0.0.1]"]
        {
            assert!(is_loopback_host(host), "{host}");
        }
        for host in [
            "",
            "0.0.0.0",
            "[::]",
            "128.0.0.1",
            "127.0.0.1.nip.io",
            "localhost.evil.example",
            "notlocalhost",
            "evil@x.localhost",
            "127.1",
            "2130706433",
        ] {
            assert!(!is_loopback_host(host), "{host}");
        }
    }

    #[test]
    fn reference_also_lists_unspecified_addresses() {
        for host in ["localhost", "Shop.LOCALHOST", "127.0.0.1", "::1", "0.0.0.0", "::"] {
            assert!(is_loopback_or_unspecified(host.as_bytes()), "{host}");
        }
        for host in ["", "127.0.0.2", "localhost.", "notlocalhost", "localhost.evil.example"] {
            assert!(!is_loopback_or_unspecified(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn loopback_url_must_be_http_or_https() {
        for url in ["http://127.0.0.1:54321", "https://localhost/auth/v1", "http://[::1]:3000/", "http://app.localhost"]
        {
            assert!(is_loopback_url(url), "{url}");
        }
        for url in
            ["", "/auth/v1", "https://shop.example.com", "http://192.168.1.5:54321", "myapp://localhost", "http://"]
        {
            assert!(!is_loopback_url(url), "{url}");
        }
    }
}
