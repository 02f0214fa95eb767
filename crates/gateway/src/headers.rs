//! Headers of forwarded requests and responses: those of the connection, and those about the client.

use std::net::IpAddr;

use http::header::{EXPECT, HOST, VIA};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use http_edge::request;
use http_edge::request::forwarded::{
    X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PATH, X_FORWARDED_PORT, X_FORWARDED_PREFIX, X_FORWARDED_PROTO,
    remove_forwarded_headers,
};
use telemetry::trace_context::{TRACEPARENT, TRACESTATE, TraceContext};

use crate::origin::PublicOrigin;

const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// The name of this server in `Via` (RFC 9110 §7.6.3).
const VIA_VALUE: &str = "1.1 basalt";
/// How often a request may pass this server before it counts as a loop.
const MAX_PASSES: usize = 3;

/// Removes the headers of the connection, and `Expect`, which is answered here.
pub(crate) fn remove_connection_headers(headers: &mut HeaderMap) {
    request::remove_connection_headers(headers);
    headers.remove(EXPECT);
}

/// What a service learns about the request as the client sent it.
pub(crate) struct ForwardedFacts<'a> {
    /// The address of the client.
    pub client: Option<IpAddr>,
    /// The address of this server for clients.
    pub origin: &'a PublicOrigin,
    /// The target of the request.
    pub uri: &'a Uri,
    /// The part of the path that is replaced.
    pub mount: &'static str,
}

/// Replaces the forwarded headers by what this server knows.
pub(crate) fn replace_forwarded_headers(headers: &mut HeaderMap, facts: &ForwardedFacts<'_>) {
    let host = headers.remove(HOST).filter(|host| !host.is_empty());
    let host = host.or_else(|| HeaderValue::try_from(facts.origin.host.as_str()).ok());
    let client = facts.client.and_then(|client| HeaderValue::try_from(client.to_string()).ok());
    let port = host.as_ref().and_then(port_of).unwrap_or(facts.origin.port);
    remove_forwarded_headers(headers);
    let prefix = if facts.mount.is_empty() { "/" } else { facts.mount };
    for (name, value) in [
        (X_FORWARDED_FOR, client.clone()),
        (X_REAL_IP, client),
        (X_FORWARDED_HOST, host),
        (X_FORWARDED_PROTO, Some(HeaderValue::from_static(facts.origin.scheme))),
        (X_FORWARDED_PORT, Some(HeaderValue::from(port))),
        (X_FORWARDED_PREFIX, Some(HeaderValue::from_static(prefix))),
        (X_FORWARDED_PATH, HeaderValue::try_from(facts.uri.path()).ok()),
    ] {
        match value {
            Some(value) => drop(headers.insert(name, value)),
            None => drop(headers.remove(name)),
        }
    }
    headers.append(VIA, HeaderValue::from_static(VIA_VALUE));
}

/// Returns the port of a `Host`, which is 80 or 443 without one and thus unknown here.
fn port_of(host: &HeaderValue) -> Option<u16> {
    let (rest, port) = host.to_str().ok()?.rsplit_once(':')?;
    (!rest.contains(':') || rest.ends_with(']')).then(|| port.parse().ok())?
}

/// Returns whether a request has passed this server too often.
pub(crate) fn is_loop(headers: &HeaderMap) -> bool {
    let values = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter(|pass| pass.trim() == VIA_VALUE).count() >= MAX_PASSES
}

/// Removes the trace context unless it is well-formed (W3C Trace Context §3.2).
pub(crate) fn remove_invalid_trace_context(headers: &mut HeaderMap) {
    if TraceContext::from_headers(headers).is_none() {
        headers.remove(TRACEPARENT);
        headers.remove(TRACESTATE);
    }
}

#[cfg(test)]
mod tests {
    use http::header::CONNECTION;
    use proptest::prelude::*;

    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn headers_of_the_connection_are_removed() {
        let mut sent = headers(&[
            ("connection", "X-Secret, content-length ,"),
            ("connection", "close, host"),
            ("x-secret", "a"),
            ("close", "b"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
            ("content-length", "3"),
            ("host", "a"),
            ("accept", "c"),
        ]);
        remove_connection_headers(&mut sent);
        assert_eq!(sent, headers(&[("content-length", "3"), ("host", "a"), ("accept", "c")]));
    }

    #[test]
    fn forwarded_headers_of_the_client_are_replaced() {
        let origin = PublicOrigin::parse("https://api.example.com");
        let uri: Uri = "/storage/v1/object/a?b".parse().expect("a target");
        let facts = ForwardedFacts {
            client: Some("192.0.2.1".parse().expect("an address")),
            origin: &origin,
            uri: &uri,
            mount: "/storage/v1",
        };
        let mut sent = headers(&[
            ("host", "public.example:8443"),
            ("x-real-ip", "1.1.1.1"),
            ("x-forwarded-prefix", "/evil"),
            ("x-forwarded-for", "1.1.1.1"),
        ]);
        replace_forwarded_headers(&mut sent, &facts);
        let expected = [
            ("x-forwarded-for", "192.0.2.1"),
            ("x-real-ip", "192.0.2.1"),
            ("x-forwarded-host", "public.example:8443"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-port", "8443"),
            ("x-forwarded-prefix", "/storage/v1"),
            ("x-forwarded-path", "/storage/v1/object/a"),
            ("via", "1.1 basalt"),
        ];
        assert_eq!(sent, headers(&expected));
        let mut without_host = HeaderMap::new();
        replace_forwarded_headers(&mut without_host, &ForwardedFacts { client: None, ..facts });
        assert_eq!(without_host["x-forwarded-host"], "api.example.com");
        assert_eq!(without_host["x-forwarded-port"], "443");
        assert!(!without_host.contains_key("x-real-ip"));
    }

    #[test]
    fn third_pass_is_a_loop() {
        assert!(!is_loop(&headers(&[("via", "1.1 basalt"), ("via", "1.0 other, 1.1 basalt")])));
        assert!(is_loop(&headers(&[("via", "1.1 basalt,1.1 basalt"), ("via", "1.0 other, 1.1 basalt")])));
    }

    #[test]
    fn only_well_formed_trace_context_is_forwarded() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        for (value, is_kept) in [
            (format!("00-{trace}-b7ad6b7169203331-01"), true),
            (format!("01-{trace}-b7ad6b7169203331-01-more"), true),
            (format!("00-{trace}-b7ad6b7169203331-01-more"), false),
            (format!("ff-{trace}-b7ad6b7169203331-01"), false),
            (format!("00-{trace}-0000000000000000-01"), false),
            (format!("00-{}-b7ad6b7169203331-01", trace.to_uppercase()), false),
            (format!("00-{trace}"), false),
            (String::new(), false),
        ] {
            let mut sent = headers(&[("tracestate", "a=b")]);
            sent.insert(TRACEPARENT, HeaderValue::try_from(&value).expect("a value"));
            remove_invalid_trace_context(&mut sent);
            assert_eq!(sent.len(), if is_kept { 2 } else { 0 }, "{value}");
        }
    }

    proptest! {
        #[test]
        fn removal_keeps_the_framing(values in prop::collection::vec("[ -~]{0,30}", 0..4), is_chunked: bool) {
            let length = [("content-length", "3")];
            let mut sent = headers(&length);
            if is_chunked {
                sent.append("transfer-encoding", HeaderValue::from_static("chunked"));
            }
            for value in &values {
                sent.append(CONNECTION, HeaderValue::try_from(value).expect("a value"));
            }
            remove_connection_headers(&mut sent);
            prop_assert_eq!(sent, headers(if is_chunked { &[] } else { &length }));
        }
    }
}
