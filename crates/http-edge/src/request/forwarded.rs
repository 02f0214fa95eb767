//! Headers in which an intermediary reports the original request.
//! A client can send them too. Which of them count is decided by the caller: see [`super::ClientAddress::resolve`].

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The addresses of the client and of the proxies before the last one.
pub const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// The host that the client called.
pub const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
/// The scheme that the client used.
pub const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// The port that the client called.
pub const X_FORWARDED_PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
/// The part of the path that a gateway removed.
pub const X_FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");
/// The path that the client called.
pub const X_FORWARDED_PATH: HeaderName = HeaderName::from_static("x-forwarded-path");
/// The client address, as Supabase's platform reports it.
pub const SB_FORWARDED_FOR: HeaderName = HeaderName::from_static("sb-forwarded-for");

/// The forwarded headers, in addition to all other names that begin with `x-forwarded`.
static FORWARDED_HEADERS: [HeaderName; 11] = [
    SB_FORWARDED_FOR,
    HeaderName::from_static("forwarded"),
    HeaderName::from_static("via"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-client-ip"),
    HeaderName::from_static("x-cluster-client-ip"),
    HeaderName::from_static("x-original-forwarded-for"),
    HeaderName::from_static("true-client-ip"),
    HeaderName::from_static("cf-connecting-ip"),
    HeaderName::from_static("fastly-client-ip"),
    HeaderName::from_static("cdn-loop"),
];

/// Returns whether a header shows that there is an intermediary.
pub fn has_forwarded_header(headers: &HeaderMap) -> bool {
    let is_forwarded = |name: &HeaderName| name.as_str().starts_with("x-forwarded") || FORWARDED_HEADERS.contains(name);
    headers.keys().any(is_forwarded)
}

/// Removes every header in which an intermediary could report the original request, but those of the route (`Via`,
/// `CDN-Loop`) and of the encoding, which a signature may cover.
///
/// A service behind the gateway may trust any of them, also a name that is not known here.
pub fn remove_forwarded_headers(headers: &mut HeaderMap) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| is_report_of_original(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

fn is_report_of_original(name: &HeaderName) -> bool {
    let text = name.as_str();
    let has_prefix = ["x-forwarded", "x-original-", "x-rewrite-"].iter().any(|prefix| text.starts_with(prefix));
    let is_listed = FORWARDED_HEADERS.contains(name);
    (has_prefix || is_listed) && !matches!(text, "via" | "cdn-loop" | "x-original-accept-encoding")
}

/// Removes the headers in which an intermediary could report the original request, because a service may read any of them.
/// If the client's address is not the peer's, it becomes the only entry of `X-Forwarded-For`.
pub fn replace_forwarded_headers(headers: &mut HeaderMap, peer: Option<IpAddr>, client: Option<IpAddr>) {
    remove_forwarded_headers(headers);
    if let (Some(peer), Some(client)) = (peer, client)
        && peer.to_canonical() != client
        && let Ok(value) = HeaderValue::try_from(client.to_string())
    {
        headers.insert(X_FORWARDED_FOR, value);
    }
}

/// Returns the part of a header before its first comma.
/// `None` if the header is missing, empty or no UTF-8 text.
pub fn first_element<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    header_text(headers.get(name)?)?.split(',').next().map(str::trim)
}

/// Returns the first element of `Sb-Forwarded-For`, if it is an address.
pub fn first_sb_forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    parse_address(first_element(headers, SB_FORWARDED_FOR.as_str())?)
}

/// Returns the first valid address of `X-Forwarded-For`.
pub fn first_forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    header_text(headers.get(X_FORWARDED_FOR)?)?.split(',').find_map(|part| parse_address(part.trim()))
}

fn header_text(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok().filter(|value| !value.is_empty())
}

fn parse_address(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().expect("a name"), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn intermediaries_are_recognized_by_their_headers() {
        for name in ["x-forwarded-for", "x-forwarded-prefix", "forwarded", "via", "cdn-loop", "sb-forwarded-for"] {
            assert!(has_forwarded_header(&headers(&[(name, "x")])), "{name}");
        }
        assert!(!has_forwarded_header(&headers(&[("host", "x"), ("x-client-info", "x"), ("origin", "x")])));
    }

    #[test]
    fn forwarded_headers_are_replaced_by_the_client_address() {
        let (peer, client) = ("10.0.0.1".parse().expect("an address"), "192.0.2.1".parse().expect("an address"));
        let sent = [
            ("x-forwarded-for", "203.0.113.9"),
            ("x-forwarded-host", "evil.example"),
            ("x-forwarded-proto", "http"),
            ("sb-forwarded-for", "203.0.113.9"),
            ("forwarded", "for=203.0.113.9"),
            ("x-forwarded-prefix", "/storage/v1/s3/other-bucket"),
            ("x-real-ip", "203.0.113.9"),
            ("via", "1.1 proxy"),
        ];
        let mut behind_proxy = headers(&sent);
        replace_forwarded_headers(&mut behind_proxy, Some(peer), Some(client));
        assert_eq!(behind_proxy, headers(&[("via", "1.1 proxy"), ("x-forwarded-for", "192.0.2.1")]));
        for (peer, client) in [(Some(client), Some(client)), (None, None)] {
            let mut direct = headers(&sent);
            replace_forwarded_headers(&mut direct, peer, client);
            assert_eq!(direct, headers(&[("via", "1.1 proxy")]));
        }
    }

    #[test]
    fn first_elements_are_read_as_the_reference_does() {
        let address = |text: &str| text.parse::<IpAddr>().ok();
        for (value, element, forwarded, sb) in [
            ("192.0.2.1", Some("192.0.2.1"), address("192.0.2.1"), address("192.0.2.1")),
            (" ::ffff:192.0.2.1 , x", Some("::ffff:192.0.2.1"), address("192.0.2.1"), address("192.0.2.1")),
            ("unknown, 192.0.2.1", Some("unknown"), address("192.0.2.1"), None),
            ("192.0.2.1:80", Some("192.0.2.1:80"), None, None),
            (",192.0.2.1", Some(""), address("192.0.2.1"), None),
            ("", None, None, None),
        ] {
            let sent = headers(&[("x-forwarded-for", value), ("sb-forwarded-for", value)]);
            assert_eq!(first_element(&sent, "X-Forwarded-For"), element, "{value:?}");
            assert_eq!((first_forwarded_for(&sent), first_sb_forwarded_for(&sent)), (forwarded, sb), "{value:?}");
        }
    }
}
