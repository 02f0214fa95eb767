//! Headers of forwarded requests and responses: those of the connection, and those about the client.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http_edge::request::forwarded::{X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PROTO};

/// The headers that concern one connection (RFC 9110 §7.6.1).
const CONNECTION_HEADERS: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Replaces the headers of the connection, and adds what the server should know about the client.
pub(super) fn forward_headers(headers: &mut HeaderMap, target: &str, peer: Option<IpAddr>) {
    remove_connection_headers(headers);
    let host = headers.remove(HOST);
    for (name, value) in [(X_FORWARDED_HOST, host), (X_FORWARDED_PROTO, Some(HeaderValue::from_static("http")))] {
        if let (false, Some(value)) = (headers.contains_key(&name), value) {
            headers.insert(name, value);
        }
    }
    if let Some(peer) = peer {
        let earlier = headers.get_all(X_FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let chain: Vec<String> = earlier.map(str::to_owned).chain([peer.to_string()]).collect();
        if let Ok(chain) = HeaderValue::try_from(chain.join(", ")) {
            headers.insert(X_FORWARDED_FOR, chain);
        }
    }
    if let Ok(host) = HeaderValue::try_from(target) {
        headers.insert(HOST, host);
    }
}

/// Removes the headers of the connection, including those that `Connection` names.
///
/// `Host` and `Content-Length` stay even if they are named: without them the next server could frame the message
/// differently. A `Content-Length` beside `Transfer-Encoding` is not the length of the body (RFC 9112 §6.3).
pub(super) fn remove_connection_headers(headers: &mut HeaderMap) {
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
            .filter(|name| *name != CONTENT_LENGTH && *name != HOST)
            .collect();
        for name in named {
            headers.remove(name);
        }
    }
    for name in &CONNECTION_HEADERS {
        headers.remove(name);
    }
}
